#include <swapadvisor/core/cuda/libraries.h>

namespace swapadvisor::cuda {

void check(cublasStatus_t status, std::string_view what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail("cuBLAS: {} failed: {} ({})", what, cublasGetStatusString(status), cublasGetStatusName(status));
}

void check(cudnnStatus_t status, std::string_view what) {
  if (status != CUDNN_STATUS_SUCCESS) fail("cuDNN: {} failed: {}", what, cudnnGetErrorString(status));
}

Libraries::Libraries(LibraryOptions options) : options_(options) {
  check(cublasCreate(&blas_), "start");
  try {
    // Each call names its arithmetic; sums of bf16 products stay in float32 to the end.
    check(
        cublasSetMathMode(blas_, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                                           CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
        "math mode");
    check(cublasSetAtomicsMode(blas_, options.fast ? CUBLAS_ATOMICS_ALLOWED : CUBLAS_ATOMICS_NOT_ALLOWED),
          "atomics mode");
    check(cudnnCreate(&dnn_), "start");
  } catch (...) {
    cublasDestroy(blas_);
    throw;
  }
}

Libraries::~Libraries() {
  cudnnDestroy(dnn_);
  cublasDestroy(blas_);
}

cublasHandle_t Libraries::blas(cudaStream_t stream, void* workspace, std::size_t workspace_bytes) const {
  check(cublasSetStream(blas_, stream), "stream");
  check(cublasSetWorkspace(blas_, workspace, workspace_bytes), "workspace");
  return blas_;
}

cudnnHandle_t Libraries::dnn(cudaStream_t stream) const {
  check(cudnnSetStream(dnn_, stream), "stream");
  return dnn_;
}

}  // namespace swapadvisor::cuda
