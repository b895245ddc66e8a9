// bias_add.
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>

namespace swapadvisor::cuda {
namespace {

/// y = x + bias, where element i of x is of channel i / pixels % channels.
template <int width, class T>
__global__ void __launch_bounds__(element_threads)
    add_bias(std::uint32_t channels, std::int64_t pixels, std::int64_t n, T* y, const T* x, const T* bias) {
  for_each_pack<width>(n, [&]<int w>(Width<w>, std::int64_t i) {
    const Pack<T, w> values = load_pack<w>(x + i);
    Pack<T, w> sums;
    std::int64_t plane = pixels == 1 ? i : i / pixels, pixel = pixels == 1 ? 0 : i - plane * pixels;
    auto channel = static_cast<std::uint32_t>(plane % channels);
    SWAPADVISOR_UNROLL
    for (int j = 0; j < w; ++j) {
      sums.at[j] = static_cast<T>(widen(values.at[j]) + widen(bias[channel]));
      if (++pixel < pixels) continue;
      pixel = 0;
      if (++channel == channels) channel = 0;
    }
    store_pack(y + i, sums);
  });
}

}  // namespace

void add_bias_kernels(KernelSet& set) {
  set.add("bias_add", [](const KernelRequest& r) {
    const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
    const bool planes = x.rank() > 2 && !(x.is_channels_last() && y.is_channels_last());
    const std::int64_t pixels = planes ? x.shape[2] * x.shape[3] : 1, n = x.numel();
    const auto channels = static_cast<std::uint32_t>(x.shape[1]);
    return visit_elements(x.dtype, [=]<class T>() {
      return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
        with_width(
            [&]<int width>(Width<width>) {
              launch(add_bias<width, T>, element_blocks((n + width - 1) / width), element_threads, 0, stream,
                     channels, pixels, n, args.out<T>(0), args.in<T>(0), args.in<T>(1));
            },
            args.in<T>(0), static_cast<const T*>(args.out<T>(0)));
      });
    });
  });
}

}  // namespace swapadvisor::cuda
