// What CUDA C++ has and C++ lacks, for g++: kernels run on the CPU, each thread of a block a fiber. Included
// by <swapadvisor/core/cuda/kernel_language.h> alone.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

// One block runs at a time on a thread of the host, so a block's shared memory can be that thread's.
#undef __shared__
#define __shared__ static thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)
#ifndef __restrict__
#define __restrict__ __restrict
#endif

namespace standin {

/// Where a fiber is: its thread and block, and the launch's shape.
struct Position {
  uint3 thread, block;
  dim3 block_size, grid_size;
};

/// Of the fiber that is running.
const Position& position();
void* dynamic_shared_bytes();
/// Waits until every thread of the block that has not returned is here.
void block_barrier();
/// Gives `value` to the warp and takes the value of `lane`; every lane of `mask` must call. `bytes` ≤ 16.
void exchange(unsigned mask, void* value, std::size_t bytes, unsigned lane);
unsigned lane_id();

/// A device pointer among a launch's arguments.
struct PointerArgument {
  const void* address;
  bool written;  ///< not const
};

struct Launch {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  std::vector<PointerArgument> pointers;
  std::function<void()> thread;  ///< what every thread runs
};

cudaError_t queue_launch(Launch launch);

template <class T>
void add_pointer(std::vector<PointerArgument>& pointers, const T& argument) {
  if constexpr (std::is_pointer_v<T>) {
    if (argument != nullptr) pointers.push_back({argument, !std::is_const_v<std::remove_pointer_t<T>>});
  } else if constexpr (requires { argument.for_each_pointer([](auto) {}); }) {
    argument.for_each_pointer([&](auto pointer) { add_pointer(pointers, pointer); });
  }
}

template <class T>
T shuffled(unsigned mask, T value, unsigned lane) {
  static_assert(sizeof(T) <= 16);
  exchange(mask, &value, sizeof value, lane);
  return value;
}

}  // namespace standin

#define threadIdx (standin::position().thread)
#define blockIdx (standin::position().block)
#define blockDim (standin::position().block_size)
#define gridDim (standin::position().grid_size)

inline void __syncthreads() {
  standin::block_barrier();
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  (void)standin::shuffled(mask, 0, standin::lane_id());
}

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  const unsigned own = standin::lane_id(), w = static_cast<unsigned>(width);
  return standin::shuffled(mask, value, own / w * w + static_cast<unsigned>(lane) % w);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  const unsigned own = standin::lane_id(), w = static_cast<unsigned>(width);
  const unsigned other = own ^ static_cast<unsigned>(lanes);
  return standin::shuffled(mask, value, other / w == own / w ? other : own);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned own = standin::lane_id(), w = static_cast<unsigned>(width);
  return standin::shuffled(mask, value, own % w + delta < w ? own + delta : own);
}

inline float rsqrtf(float x) {
  return 1.0f / std::sqrt(x);
}
inline double rsqrt(double x) {
  return 1.0 / std::sqrt(x);
}
inline float __expf(float x) {
  return std::exp(x);
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
template <class T>
T __ldg(const T* address) {
  return *address;
}

namespace swapadvisor::cuda {

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(standin::dynamic_shared_bytes());
}

template <class... P>
cudaError_t launch_kernel(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes,
                          cudaStream_t stream, P... args) {
  standin::Launch launch{grid, block, shared_bytes, stream, {}, [kernel, args...] { kernel(args...); }};
  (standin::add_pointer(launch.pointers, args), ...);
  return standin::queue_launch(std::move(launch));
}

}  // namespace swapadvisor::cuda
