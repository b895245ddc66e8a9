// The one way kernels are launched.
#pragma once

#include <swapadvisor/core/cuda/check.h>
#include <swapadvisor/core/cuda/kernel_language.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace swapadvisor::cuda {

/// Queues `kernel` on `stream` with `shared_bytes` of dynamic shared memory. Arguments are converted to the
/// kernel's parameters: device pointers (const ones are read, others written), and values. Throws `Error`
/// when refused.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
            A&&... args) {
  static_assert(sizeof...(P) == sizeof...(A), "one argument per parameter of the kernel");
  check(launch_kernel<P...>(kernel, grid, block, shared_bytes, stream, static_cast<P>(args)...),
        "a kernel launch");
}

/// Threads of a block that works on elements.
inline constexpr int element_threads = 256;

/// Blocks for a grid-stride loop over n elements: a fixed number at most, so that results never depend on the
/// GPU.
inline dim3 element_blocks(std::int64_t n) {
  constexpr std::int64_t most = 4096;
  return dim3(
      static_cast<unsigned>(std::clamp<std::int64_t>((n + element_threads - 1) / element_threads, 1, most)));
}

}  // namespace swapadvisor::cuda
