#include <swapadvisor/core/cuda/check.h>

namespace swapadvisor::cuda {

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  // A failed call also sets the error that the next one would find.
  (void)cudaGetLastError();
  if (status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice)
    fail("CUDA: {} on this machine ({})",
         status == cudaErrorNoDevice ? "there is no GPU"
                                     : "there is no driver, or one older than this build needs,",
         cudaGetErrorName(status));
  fail("CUDA: {} failed: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
}

}  // namespace swapadvisor::cuda
