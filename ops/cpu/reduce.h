// Sums over a whole tensor that give the same bits for every thread count: blocks of a fixed size, each
// summed over fixed lanes, then the blocks' sums in order.
#pragma once

#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/vector.h>

#include <algorithm>
#include <cstdint>

namespace swapadvisor {

/// Elements per block.
inline constexpr std::int64_t reduction_block = 8192;

constexpr std::int64_t reduction_blocks(std::int64_t n) {
  return (n + reduction_block - 1) / reduction_block;
}

/// Calls f(block, begin, end) for every block of [0, n), on several threads when there are enough.
template <class F>
void for_each_block(std::int64_t n, F f) {
  parallel_for(reduction_blocks(n), 2, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t b = first; b < last; ++b)
      f(b, b * reduction_block, std::min(n, (b + 1) * reduction_block));
  });
}

}  // namespace swapadvisor
