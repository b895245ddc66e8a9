#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/cpu/conv2d_depthwise.h>
#include <swapadvisor/ops/cpu/conv2d_gemm.h>
#include <swapadvisor/ops/cpu/register.h>

namespace swapadvisor {
namespace {

template <class T>
std::unique_ptr<Kernel> gemm_kernel(const KernelRequest& r) {
  if (r.op.type() == "conv2d") return conv2d_gemm_forward<T>(r, eigen_gemm<T>);
  if (r.op.type() == "conv2d_backward_data") return conv2d_gemm_backward_data<T>(r, eigen_gemm<T>);
  return conv2d_gemm_backward_weight<T>(r, eigen_gemm<T>);
}

}  // namespace

void add_conv_kernels(KernelSet& set) {
  for (const char* type : {"conv2d", "conv2d_backward_data", "conv2d_backward_weight"})
    set.add(type, [](const KernelRequest& r) {
      return visit_floating(r.inputs[0].dtype, [&]<class T>() {
        auto depthwise = conv2d_depthwise<T>(r);
        return depthwise ? std::move(depthwise) : gemm_kernel<T>(r);
      });
    });
}

}  // namespace swapadvisor
