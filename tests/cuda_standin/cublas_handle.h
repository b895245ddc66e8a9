// cuBLAS's handle in the stand-in.
#pragma once

#include <cublas_v2.h>

#include <cstddef>

namespace standin {

struct BlasHandle {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
};

inline BlasHandle* blas_handle(cublasHandle_t handle) {
  return reinterpret_cast<BlasHandle*>(handle);
}

}  // namespace standin
