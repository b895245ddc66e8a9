// What the program finds in this library.
#include <swapadvisor/core/cuda/cuda_device.h>
#include <swapadvisor/core/cuda/libraries.h>
#include <swapadvisor/ops/cuda/cuda_kernels.h>

extern "C" __attribute__((visibility("default"))) swapadvisor::Backend* swapadvisor_open_cuda_1(
    const swapadvisor::CudaOptions& options) {
  namespace cuda = swapadvisor::cuda;
  auto device = cuda::make_cuda_device(options);
  auto libraries =
      std::make_shared<const cuda::Libraries>(cuda::LibraryOptions{options.allow_tf32, options.fast});
  return new swapadvisor::Backend{std::move(device), cuda::cuda_kernels(std::move(libraries))};
}
