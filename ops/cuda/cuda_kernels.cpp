#include <swapadvisor/ops/cuda/cuda_kernels.h>
#include <swapadvisor/ops/cuda/register.h>

namespace swapadvisor::cuda {

KernelSet cuda_kernels(std::shared_ptr<const Libraries> libraries) {
  KernelSet set;
  add_own_kernels(set);
  add_matmul_kernels(set, libraries);
  add_conv2d_kernels(set, libraries);
  return set;
}

}  // namespace swapadvisor::cuda
