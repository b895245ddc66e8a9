#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/cpu/conv2d_gemm.h>
#include <swapadvisor/ops/cpu/register.h>

namespace swapadvisor {

void add_conv_kernels(KernelSet& set) {
  set.add("conv2d", [](const KernelRequest& r) {
    return visit_floating(r.inputs[0].dtype,
                          [&]<class T>() { return conv2d_gemm_forward<T>(r, eigen_gemm<T>); });
  });
  set.add("conv2d_backward_data", [](const KernelRequest& r) {
    return visit_floating(r.inputs[0].dtype,
                          [&]<class T>() { return conv2d_gemm_backward_data<T>(r, eigen_gemm<T>); });
  });
  set.add("conv2d_backward_weight", [](const KernelRequest& r) {
    return visit_floating(r.inputs[0].dtype,
                          [&]<class T>() { return conv2d_gemm_backward_weight<T>(r, eigen_gemm<T>); });
  });
}

}  // namespace swapadvisor
