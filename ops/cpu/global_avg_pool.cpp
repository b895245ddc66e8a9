// global_avg_pool and its gradient.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>

#include <algorithm>
#include <array>

namespace swapadvisor {
namespace {

constexpr std::int64_t block = 64;  ///< channels added up together

/// Means over `count` pixels of `n` ≤ block channels that lie side by side, `stride` elements from pixel to
/// pixel.
template <class T>
SWAPADVISOR_MULTIVERSION void mean_over_pixels(const T* x, std::int64_t count, std::int64_t stride,
                                               std::int64_t n, T* y) {
  std::array<double, block> sums{};
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t c = 0; c < n; ++c)
      sums[static_cast<std::size_t>(c)] += static_cast<double>(x[i * stride + c]);
  for (std::int64_t c = 0; c < n; ++c)
    y[c] = static_cast<T>(sums[static_cast<std::size_t>(c)] / static_cast<double>(count));
}

/// Mean of `count` elements in a row.
template <class T>
SWAPADVISOR_MULTIVERSION T mean_of(const T* x, std::int64_t count) {
  std::array<double, reduction_lanes> sums{};
  std::int64_t i = 0;
  for (; i + reduction_lanes <= count; i += reduction_lanes)
    for (int k = 0; k < reduction_lanes; ++k)
      sums[static_cast<std::size_t>(k)] += static_cast<double>(x[i + k]);
  for (; i < count; ++i) sums[0] += static_cast<double>(x[i]);
  double total = 0;
  for (double sum : sums) total += sum;
  return static_cast<T>(total / static_cast<double>(count));
}

struct Sizes {
  std::int64_t batch, channels, pixels;
  bool channels_last;
  std::int64_t blocks() const { return (channels + block - 1) / block; }
  std::int64_t grain() const { return std::max<std::int64_t>(1, elementwise_grain / (pixels * block)); }
};

Sizes sizes_of(const TensorSpec& x) {
  return {x.shape[0], x.shape[1], x.shape[2] * x.shape[3], x.is_channels_last()};
}

template <class T>
void means(const Sizes& s, const T* x, T* y) {
  parallel_for(s.batch * s.blocks(), s.grain(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t image = i / s.blocks(), c = i % s.blocks() * block,
                         n = std::min(block, s.channels - c);
      T* target = y + image * s.channels + c;
      if (s.channels_last) {
        mean_over_pixels(x + image * s.pixels * s.channels + c, s.pixels, s.channels, n, target);
      } else {
        for (std::int64_t k = 0; k < n; ++k)
          target[k] = mean_of(x + (image * s.channels + c + k) * s.pixels, s.pixels);
      }
    }
  });
}

template <class T>
void spread(const Sizes& s, const T* dy, T* dx) {
  const T divisor = static_cast<T>(s.pixels);
  parallel_for(s.batch * s.blocks(), s.grain(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t image = i / s.blocks(), c = i % s.blocks() * block,
                         n = std::min(block, s.channels - c);
      std::array<T, block> share;
      for (std::int64_t k = 0; k < n; ++k)
        share[static_cast<std::size_t>(k)] = dy[image * s.channels + c + k] / divisor;
      if (s.channels_last) {
        T* target = dx + image * s.pixels * s.channels + c;
        for (std::int64_t p = 0; p < s.pixels; ++p) std::copy_n(share.data(), n, target + p * s.channels);
      } else {
        T* target = dx + (image * s.channels + c) * s.pixels;
        for (std::int64_t k = 0; k < n; ++k)
          std::fill_n(target + k * s.pixels, s.pixels, share[static_cast<std::size_t>(k)]);
      }
    }
  });
}

}  // namespace

void add_global_avg_pool_kernels(KernelSet& set) {
  set.add("global_avg_pool", [](const KernelRequest& r) {
    const Sizes s = sizes_of(r.inputs[0]);
    return visit_floating(r.inputs[0].dtype, [s]<class T>() {
      return make_kernel([s](const KernelArgs& args) { means(s, args.in<T>(0), args.out<T>(0)); });
    });
  });
  set.add("global_avg_pool_backward", [](const KernelRequest& r) {
    const Sizes s = sizes_of(r.outputs[0]);
    return visit_floating(r.inputs[0].dtype, [s]<class T>() {
      return make_kernel([s](const KernelArgs& args) { spread(s, args.in<T>(0), args.out<T>(0)); });
    });
  });
}

}  // namespace swapadvisor
