// Element-wise kernels: y[i] = f(x[i]...), one pass over memory in packs.
#pragma once

#include <swapadvisor/ops/cuda/elements.h>

namespace swapadvisor::cuda {

template <int width, class F, class Y, class... X>
__device__ inline void map_pack(const F& f, Y* y, Pack<X, width>... x) {
  Pack<Y, width> result;
  SWAPADVISOR_UNROLL
  for (int j = 0; j < width; ++j) result.at[j] = static_cast<Y>(f(widen(x.at[j])...));
  store_pack(y, result);
}

template <int width, class F, class Y, class... X>
__global__ void __launch_bounds__(element_threads) map_elements(F f, std::int64_t n, Y* y, const X*... x) {
  for_each_pack<width>(
      n, [&]<int w>(Width<w>, std::int64_t i) { map_pack<w>(f, y + i, load_pack<w>(x + i)...); });
}

/// Queues y[i] = f(x[i]...) for n elements; y may be one of the operands.
template <class F, class Y, class... X>
void launch_map(cudaStream_t stream, F f, std::int64_t n, Y* y, const X*... x) {
  with_width(
      [&]<int width>(Width<width>) {
        launch(map_elements<width, F, Y, X...>, element_blocks((n + width - 1) / width), element_threads, 0,
               stream, f, n, y, x...);
      },
      static_cast<const Y*>(y), x...);
}

/// A kernel of one operand and one result of the same type.
template <class F>
std::unique_ptr<Kernel> unary_kernel(const KernelRequest& request, F f) {
  const std::int64_t n = request.outputs[0].numel();
  return visit_elements(request.outputs[0].dtype, [n, f]<class T>() {
    return device_kernel([n, f](cudaStream_t stream, const KernelArgs& args) {
      launch_map(stream, f, n, args.out<T>(0), args.in<T>(0));
    });
  });
}

/// A kernel of two operands of the result's type.
template <class F>
std::unique_ptr<Kernel> binary_kernel(const KernelRequest& request, F f) {
  const std::int64_t n = request.outputs[0].numel();
  return visit_elements(request.outputs[0].dtype, [n, f]<class T>() {
    return device_kernel([n, f](cudaStream_t stream, const KernelArgs& args) {
      launch_map(stream, f, n, args.out<T>(0), args.in<T>(0), args.in<T>(1));
    });
  });
}

}  // namespace swapadvisor::cuda
