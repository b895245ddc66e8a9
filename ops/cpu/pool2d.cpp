// max_pool2d, avg_pool2d and their gradients. Inner loops run over the channels of one pixel; a row-major
// tensor is walked as N·C images of one channel. Gradients gather, so every element is written by one thread
// in a fixed order.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/avg_pool2d.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/max_pool2d.h>

#include <algorithm>
#include <type_traits>

namespace swapadvisor {
namespace {

struct Interval {
  std::int64_t begin, end;
};

/// One axis: which inputs a window covers and which windows cover an input.
struct Axis {
  std::int64_t size, outputs, kernel, stride, padding;

  Interval inputs(std::int64_t o) const {
    const std::int64_t start = o * stride - padding;
    return {std::max<std::int64_t>(0, start), std::min(size, start + kernel)};
  }
  Interval windows(std::int64_t i) const {
    const std::int64_t last = (i + padding) / stride, before = i + padding - kernel;
    return {before < 0 ? 0 : before / stride + 1, std::min(outputs, last + 1)};
  }
  std::int64_t tap(std::int64_t i, std::int64_t o) const { return i + padding - o * stride; }
  /// Elements that an average divides by; padding beyond `size + padding` never counts.
  std::int64_t count(std::int64_t o, bool include_padding) const {
    const std::int64_t start = o * stride - padding;
    if (include_padding) return std::min(start + kernel, size + padding) - start;
    return inputs(o).end - inputs(o).begin;
  }
};

struct Pool {
  std::int64_t images, channels;
  Axis h, w;
  bool include_padding;

  Pool(const TensorSpec& x, const TensorSpec& y, const Pool2dOptions& options)
      : include_padding(options.count_include_pad) {
    const Pool2dGeometry g = pool2d_geometry(x, options);
    const bool channels_last = x.is_channels_last() && y.is_channels_last();
    images = channels_last ? g.batch : g.batch * g.channels;
    channels = channels_last ? g.channels : 1;
    h = {g.height, g.out_height, options.kernel[0], options.stride[0], options.padding[0]};
    w = {g.width, g.out_width, options.kernel[1], options.stride[1], options.padding[1]};
  }
  template <class T>
  T* input(T* x, std::int64_t image, std::int64_t ih, std::int64_t iw) const {
    return x + ((image * h.size + ih) * w.size + iw) * channels;
  }
  template <class T>
  T* output(T* y, std::int64_t image, std::int64_t oh, std::int64_t ow) const {
    return y + ((image * h.outputs + oh) * w.outputs + ow) * channels;
  }
  double divisor(std::int64_t oh, std::int64_t ow) const {
    return static_cast<double>(h.count(oh, include_padding) * w.count(ow, include_padding));
  }
};

constexpr std::int64_t lanes = 64;  ///< channels whose maxima are kept together

/// Maxima of one window for `n` ≤ lanes channels from `c` on. Indexes are as wide as elements until they are
/// stored, so that comparisons and selections have one width.
template <class T>
SWAPADVISOR_INLINE void max_of_window(const Pool& p, const T* x, std::int64_t image, std::int64_t oh,
                                      std::int64_t ow, std::int64_t c, std::int64_t n, T* y,
                                      std::uint8_t* index) {
  using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const Interval rows = p.h.inputs(oh), cols = p.w.inputs(ow);
  T best[lanes];
  Index where[lanes];
  const T* first = p.input(x, image, rows.begin, cols.begin) + c;
  for (std::int64_t i = 0; i < n; ++i) {
    best[i] = first[i];
    where[i] = static_cast<Index>(p.h.tap(rows.begin, oh) * p.w.kernel + p.w.tap(cols.begin, ow));
  }
  for (std::int64_t ih = rows.begin; ih < rows.end; ++ih) {
    for (std::int64_t iw = cols.begin; iw < cols.end; ++iw) {
      const T* value = p.input(x, image, ih, iw) + c;
      const auto tap = static_cast<Index>(p.h.tap(ih, oh) * p.w.kernel + p.w.tap(iw, ow));
      for (std::int64_t i = 0; i < n; ++i) {
        const T v = value[i];
        const bool larger = (v > best[i]) | (v != v);
        best[i] = larger ? v : best[i];
        where[i] = larger ? tap : where[i];
      }
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = best[i];
    index[i] = static_cast<std::uint8_t>(where[i]);
  }
}

template <class T>
SWAPADVISOR_MULTIVERSION void max_rows(const Pool& p, const T* x, T* y, std::uint8_t* index,
                                       std::int64_t first, std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t image = row / p.h.outputs, oh = row % p.h.outputs;
    for (std::int64_t ow = 0; ow < p.w.outputs; ++ow) {
      T* maxima = p.output(y, image, oh, ow);
      std::uint8_t* where = p.output(index, image, oh, ow);
      std::int64_t c = 0;
      for (; c + lanes <= p.channels; c += lanes)
        max_of_window(p, x, image, oh, ow, c, lanes, maxima + c, where + c);
      if (c < p.channels) max_of_window(p, x, image, oh, ow, c, p.channels - c, maxima + c, where + c);
    }
  }
}

template <class T>
SWAPADVISOR_MULTIVERSION void average_rows(const Pool& p, const T* x, T* y, std::int64_t first,
                                           std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t image = row / p.h.outputs, oh = row % p.h.outputs;
    const Interval rows = p.h.inputs(oh);
    for (std::int64_t ow = 0; ow < p.w.outputs; ++ow) {
      const Interval cols = p.w.inputs(ow);
      T* sum = p.output(y, image, oh, ow);
      std::fill_n(sum, p.channels, T(0));
      for (std::int64_t ih = rows.begin; ih < rows.end; ++ih) {
        for (std::int64_t iw = cols.begin; iw < cols.end; ++iw) {
          const T* v = p.input(x, image, ih, iw);
          SWAPADVISOR_VECTORISE
          for (std::int64_t c = 0; c < p.channels; ++c) sum[c] += v[c];
        }
      }
      const T divisor = static_cast<T>(p.divisor(oh, ow));
      for (std::int64_t c = 0; c < p.channels; ++c) sum[c] /= divisor;
    }
  }
}

/// One pixel of x as seen by one window.
struct Sight {
  std::int64_t image, oh, ow, ih, iw;
};

/// Gradients that windows give a pixel of x, added to its channels.
template <class T>
struct MaxGradient {
  const T* dy;
  const std::uint8_t* index;

  SWAPADVISOR_INLINE void add(const Pool& p, const Sight& s, T* sum) const {
    const auto tap = static_cast<std::uint8_t>(p.h.tap(s.ih, s.oh) * p.w.kernel + p.w.tap(s.iw, s.ow));
    const T* gradient = p.output(dy, s.image, s.oh, s.ow);
    const std::uint8_t* where = p.output(index, s.image, s.oh, s.ow);
    SWAPADVISOR_VECTORISE
    for (std::int64_t c = 0; c < p.channels; ++c) {
      const T g = gradient[c];
      sum[c] += where[c] == tap ? g : T(0);
    }
  }
};

template <class T>
struct AverageGradient {
  const T* dy;

  SWAPADVISOR_INLINE void add(const Pool& p, const Sight& s, T* sum) const {
    const T* gradient = p.output(dy, s.image, s.oh, s.ow);
    const T divisor = static_cast<T>(p.divisor(s.oh, s.ow));
    SWAPADVISOR_VECTORISE
    for (std::int64_t c = 0; c < p.channels; ++c) sum[c] += gradient[c] / divisor;
  }
};

/// Rows [first, last) of dx.
template <class T, class Gradient>
SWAPADVISOR_MULTIVERSION void gather_rows(const Pool& p, const Gradient& gradient, T* dx, std::int64_t first,
                                          std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t image = row / p.h.size, ih = row % p.h.size;
    const Interval rows = p.h.windows(ih);
    for (std::int64_t iw = 0; iw < p.w.size; ++iw) {
      const Interval cols = p.w.windows(iw);
      T* sum = p.input(dx, image, ih, iw);
      std::fill_n(sum, p.channels, T(0));
      for (std::int64_t oh = rows.begin; oh < rows.end; ++oh)
        for (std::int64_t ow = cols.begin; ow < cols.end; ++ow) gradient.add(p, {image, oh, ow, ih, iw}, sum);
    }
  }
}

/// Rows of `width` pixels worth a thread.
std::int64_t row_grain(const Pool& p, std::int64_t width) {
  const std::int64_t work = width * p.channels * p.h.kernel * p.w.kernel;
  return std::max<std::int64_t>(1, elementwise_grain / std::max<std::int64_t>(1, work));
}

}  // namespace

void add_pool_kernels(KernelSet& set) {
  set.add("max_pool2d", [](const KernelRequest& r) {
    const Pool p(r.inputs[0], r.outputs[0], r.as<MaxPool2dOp>().options());
    return visit_floating(r.inputs[0].dtype, [p]<class T>() {
      return make_kernel([p](const KernelArgs& args) {
        parallel_for(p.images * p.h.outputs, row_grain(p, p.w.outputs), [&](std::int64_t b, std::int64_t e) {
          max_rows(p, args.in<T>(0), args.out<T>(0), args.out<std::uint8_t>(1), b, e);
        });
      });
    });
  });
  set.add("max_pool2d_backward", [](const KernelRequest& r) {
    const Pool p(r.outputs[0], r.inputs[0], r.as<MaxPool2dBackwardOp>().options());
    return visit_floating(r.inputs[0].dtype, [p]<class T>() {
      return make_kernel([p](const KernelArgs& args) {
        parallel_for(p.images * p.h.size, row_grain(p, p.w.size), [&](std::int64_t b, std::int64_t e) {
          gather_rows(p, MaxGradient<T>{args.in<T>(0), args.in<std::uint8_t>(1)}, args.out<T>(0), b, e);
        });
      });
    });
  });
  set.add("avg_pool2d", [](const KernelRequest& r) {
    const Pool p(r.inputs[0], r.outputs[0], r.as<AvgPool2dOp>().options());
    return visit_floating(r.inputs[0].dtype, [p]<class T>() {
      return make_kernel([p](const KernelArgs& args) {
        parallel_for(p.images * p.h.outputs, row_grain(p, p.w.outputs), [&](std::int64_t b, std::int64_t e) {
          average_rows(p, args.in<T>(0), args.out<T>(0), b, e);
        });
      });
    });
  });
  set.add("avg_pool2d_backward", [](const KernelRequest& r) {
    const Pool p(r.outputs[0], r.inputs[0], r.as<AvgPool2dBackwardOp>().options());
    return visit_floating(r.inputs[0].dtype, [p]<class T>() {
      return make_kernel([p](const KernelArgs& args) {
        parallel_for(p.images * p.h.size, row_grain(p, p.w.size), [&](std::int64_t b, std::int64_t e) {
          gather_rows(p, AverageGradient<T>{args.in<T>(0)}, args.out<T>(0), b, e);
        });
      });
    });
  });
}

}  // namespace swapadvisor
