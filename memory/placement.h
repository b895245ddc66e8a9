// Placement: exact addresses for things that live at known times ("dynamic storage allocation").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

/// `bytes` from time `first` to time `last`, both included.
struct PlacementItem {
  std::int64_t bytes = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Where items lie.
struct Placement {
  std::vector<std::int64_t> offsets;  ///< one per item, multiples of `arena_alignment`
  std::int64_t bytes = 0;             ///< the end of the highest item
};

/// Offsets such that no two items that live at a common time overlap. Tries greedy placement by size, which
/// packs best, and a best-fit walk through time, and keeps the smaller result; stops when one meets
/// `peak_live_bytes`. Time: O(n log n + m²) with m at most some thousand of the largest items, a few hundred
/// milliseconds at most.
Placement place(std::span<const PlacementItem> items);

/// The most bytes (rounded up to `arena_alignment` each) alive at one time: no placement is smaller.
std::int64_t peak_live_bytes(std::span<const PlacementItem> items);

}  // namespace swapadvisor
