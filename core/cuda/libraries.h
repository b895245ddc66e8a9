// Handles of cuBLAS and cuDNN, made once per device.
#pragma once

#include <cublas_v2.h>
#include <cudnn.h>
#include <swapadvisor/core/cuda/check.h>

namespace swapadvisor::cuda {

/// Throw `Error` with one sentence unless the status is success.
void check(cublasStatus_t status, std::string_view what);
void check(cudnnStatus_t status, std::string_view what);

/// What the user lets the libraries do.
struct LibraryOptions {
  bool allow_tf32 = false;  ///< float32 products rounded to TF32 on tensor cores
  bool fast = false;        ///< algorithms whose bits may differ from run to run
};

/// One handle of each library. Kernels set stream and workspace before every call, so that no library
/// allocates device memory behind the plan. One thread at a time.
class Libraries {
 public:
  /// Throws `Error` when a library cannot start.
  explicit Libraries(LibraryOptions options);
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  const LibraryOptions& options() const { return options_; }
  /// The handle, on `stream` and with `workspace` as its only memory.
  cublasHandle_t blas(cudaStream_t stream, void* workspace, std::size_t workspace_bytes) const;
  /// The handle, on `stream`; cuDNN takes workspace call by call.
  cudnnHandle_t dnn(cudaStream_t stream) const;
  /// For questions that need no stream: which algorithm, how much workspace.
  cudnnHandle_t dnn() const { return dnn_; }

 private:
  LibraryOptions options_;
  cublasHandle_t blas_ = nullptr;
  cudnnHandle_t dnn_ = nullptr;
};

}  // namespace swapadvisor::cuda
