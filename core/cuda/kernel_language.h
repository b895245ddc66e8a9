// The CUDA C++ that device code here is written in, for nvcc and for g++: the one place that knows which
// compiler it is. g++ compiles the same sources for the CPU stand-in of the tests, whose header gives what
// the language lacks there.
#pragma once

#include <cuda_runtime.h>

#ifdef __CUDACC__

namespace swapadvisor::cuda {

/// The launch's dynamic shared memory, 16-byte aligned.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  return reinterpret_cast<T*>(shared_bytes);
}

/// Queues `kernel` on a stream.
template <class... P>
cudaError_t launch_kernel(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes,
                          cudaStream_t stream, P... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, args...);
}

}  // namespace swapadvisor::cuda

#else
#include <standin/kernel_language.h>
#endif
