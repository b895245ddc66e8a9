// Reductions over the threads of a warp or a block, in a fixed order.
#pragma once

#include <swapadvisor/core/cuda/kernel_language.h>
#include <swapadvisor/ops/cuda/unroll.h>

namespace swapadvisor::cuda {

inline constexpr int warp_threads = 32;
inline constexpr unsigned whole_warp = 0xffffffffu;

struct Plus {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a + b;
  }
};
/// The greater one; NaNs lose.
struct Greater {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a > b || b != b ? a : b;
  }
};

/// Every lane gets the reduction of all lanes, in the same bits: `combine` is commutative.
template <class A, class Combine>
__device__ inline A warp_reduce(A value, Combine combine) {
  SWAPADVISOR_UNROLL
  for (int lanes = warp_threads / 2; lanes > 0; lanes /= 2)
    value = combine(value, __shfl_xor_sync(whole_warp, value, lanes));
  return value;
}

/// Every thread of a one-dimensional block of whole warps gets the reduction: warps first, then their results
/// in order. All threads must call it.
template <class A, class Combine>
__device__ inline A block_reduce(A value, Combine combine) {
  __shared__ A of_warp[warp_threads];
  value = warp_reduce(value, combine);
  const int warp = static_cast<int>(threadIdx.x) / warp_threads,
            warps = static_cast<int>(blockDim.x) / warp_threads;
  __syncthreads();  // what an earlier call left has been read
  if (threadIdx.x % warp_threads == 0) of_warp[warp] = value;
  __syncthreads();
  value = of_warp[0];
  for (int w = 1; w < warps; ++w) value = combine(value, of_warp[w]);
  return value;
}

/// Over the threads that share a row: a warp of a block of several, or the whole block.
template <int row_threads, class A, class Combine>
__device__ inline A row_reduce(A value, Combine combine) {
  if constexpr (row_threads == warp_threads)
    return warp_reduce(value, combine);
  else
    return block_reduce(value, combine);
}

/// Threads of a block, of which `row_threads` work on one row.
inline constexpr int rows_block_threads = 256;

/// The row of this thread, where each block has rows_block_threads / row_threads of them.
template <int row_threads>
__device__ inline long long row_of_block() {
  return static_cast<long long>(blockIdx.x) * (rows_block_threads / row_threads) + threadIdx.x / row_threads;
}

inline dim3 row_blocks(long long rows, int row_threads) {
  const int per_block = rows_block_threads / row_threads;
  return dim3(static_cast<unsigned>((rows + per_block - 1) / per_block));
}

}  // namespace swapadvisor::cuda
