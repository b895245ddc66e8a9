#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/cpu/conv2d_depthwise.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/cpu/workspace.h>

#include <algorithm>

namespace swapadvisor {
namespace {

constexpr std::int64_t lanes = 32;         ///< channels whose sums are kept together
constexpr std::int64_t most_columns = 16;  ///< of a kernel whose weight gradient is kept together

struct Interval {
  std::int64_t begin, end;
};

/// One axis: input i, output o and tap k of the kernel meet where i = o·stride − padding + k.
struct Axis {
  std::int64_t size, outputs, kernel, stride, padding;

  Interval taps(std::int64_t o) const {
    const std::int64_t start = o * stride - padding;
    return {std::max<std::int64_t>(0, -start), std::min(kernel, size - start)};
  }
  Interval outputs_of_input(std::int64_t i) const {
    const std::int64_t last = (i + padding) / stride, before = i + padding - kernel;
    return {before < 0 ? 0 : before / stride + 1, std::min(outputs, last + 1)};
  }
  /// Outputs whose input at tap k is inside.
  Interval outputs_of_tap(std::int64_t k) const {
    const std::int64_t first = padding - k <= 0 ? 0 : (padding - k + stride - 1) / stride;
    const std::int64_t room = size - 1 + padding - k;
    return {first, room < 0 ? 0 : std::min(outputs, room / stride + 1)};
  }
};

struct Depthwise {
  std::int64_t batch, channels;
  Axis h, w;

  explicit Depthwise(const Conv2dGeometry& g)
      : batch(g.batch),
        channels(g.in_channels),
        h{g.height, g.out_height, g.kernel_height, g.options.stride[0], g.options.padding[0]},
        w{g.width, g.out_width, g.kernel_width, g.options.stride[1], g.options.padding[1]} {}

  std::int64_t taps() const { return h.kernel * w.kernel; }
  template <class T>
  T* input(T* x, std::int64_t image, std::int64_t ih, std::int64_t iw) const {
    return x + ((image * h.size + ih) * w.size + iw) * channels;
  }
  template <class T>
  T* output(T* y, std::int64_t image, std::int64_t oh, std::int64_t ow) const {
    return y + ((image * h.outputs + oh) * w.outputs + ow) * channels;
  }
};

/// [C, taps] → [taps, C].
template <class T>
void pack(const Depthwise& d, const T* weight, T* packed) {
  for (std::int64_t c = 0; c < d.channels; ++c)
    for (std::int64_t k = 0; k < d.taps(); ++k) packed[k * d.channels + c] = weight[c * d.taps() + k];
}

template <class T>
SWAPADVISOR_INLINE void multiply_add(const T* a, const T* b, T* sum, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += a[i] * b[i];
}

/// Channels [c, c + n), n ≤ lanes, of one pixel of y.
template <class T>
SWAPADVISOR_INLINE void convolve_pixel(const Depthwise& d, const T* x, const T* weight, T* y,
                                       std::int64_t image, std::int64_t oh, std::int64_t ow, std::int64_t c,
                                       std::int64_t n) {
  const Interval rows = d.h.taps(oh), cols = d.w.taps(ow);
  T sum[lanes];
  for (std::int64_t i = 0; i < n; ++i) sum[i] = 0;
  for (std::int64_t kh = rows.begin; kh < rows.end; ++kh)
    for (std::int64_t kw = cols.begin; kw < cols.end; ++kw)
      multiply_add(
          d.input(x, image, oh * d.h.stride - d.h.padding + kh, ow * d.w.stride - d.w.padding + kw) + c,
          weight + (kh * d.w.kernel + kw) * d.channels + c, sum, n);
  std::copy_n(sum, n, d.output(y, image, oh, ow) + c);
}

/// The same of dx.
template <class T>
SWAPADVISOR_INLINE void gather_pixel(const Depthwise& d, const T* dy, const T* weight, T* dx,
                                     std::int64_t image, std::int64_t ih, std::int64_t iw, std::int64_t c,
                                     std::int64_t n) {
  const Interval rows = d.h.outputs_of_input(ih), cols = d.w.outputs_of_input(iw);
  T sum[lanes];
  for (std::int64_t i = 0; i < n; ++i) sum[i] = 0;
  for (std::int64_t oh = rows.begin; oh < rows.end; ++oh) {
    const std::int64_t kh = ih + d.h.padding - oh * d.h.stride;
    for (std::int64_t ow = cols.begin; ow < cols.end; ++ow) {
      const std::int64_t kw = iw + d.w.padding - ow * d.w.stride;
      multiply_add(d.output(dy, image, oh, ow) + c, weight + (kh * d.w.kernel + kw) * d.channels + c, sum, n);
    }
  }
  std::copy_n(sum, n, d.input(dx, image, ih, iw) + c);
}

/// Rows [first, last) of all images of y.
template <class T>
SWAPADVISOR_MULTIVERSION void convolve_rows(const Depthwise& d, const T* x, const T* weight, T* y,
                                            std::int64_t first, std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row)
    for (std::int64_t ow = 0; ow < d.w.outputs; ++ow) {
      std::int64_t c = 0;
      for (; c + lanes <= d.channels; c += lanes)
        convolve_pixel(d, x, weight, y, row / d.h.outputs, row % d.h.outputs, ow, c, lanes);
      if (c < d.channels)
        convolve_pixel(d, x, weight, y, row / d.h.outputs, row % d.h.outputs, ow, c, d.channels - c);
    }
}

/// Rows [first, last) of all images of dx.
template <class T>
SWAPADVISOR_MULTIVERSION void gather_rows(const Depthwise& d, const T* dy, const T* weight, T* dx,
                                          std::int64_t first, std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row)
    for (std::int64_t iw = 0; iw < d.w.size; ++iw) {
      std::int64_t c = 0;
      for (; c + lanes <= d.channels; c += lanes)
        gather_pixel(d, dy, weight, dx, row / d.h.size, row % d.h.size, iw, c, lanes);
      if (c < d.channels)
        gather_pixel(d, dy, weight, dx, row / d.h.size, row % d.h.size, iw, c, d.channels - c);
    }
}

/// Σ over one row of outputs of x·dy at tap (kh, kw), for channels [c, c + n); added to `total`. A row is
/// summed in T, rows are in double: an image has many thousand positions.
template <class T>
SWAPADVISOR_INLINE void weigh_row(const Depthwise& d, const T* x, const T* dy, std::int64_t kw,
                                  std::int64_t c, std::int64_t n, double* total) {
  const Interval outputs = d.w.outputs_of_tap(kw);
  T sum[lanes];
  for (std::int64_t i = 0; i < n; ++i) sum[i] = 0;
  for (std::int64_t ow = outputs.begin; ow < outputs.end; ++ow)
    multiply_add(x + (ow * d.w.stride - d.w.padding + kw) * d.channels + c, dy + ow * d.channels + c, sum, n);
  for (std::int64_t i = 0; i < n; ++i) total[i] += static_cast<double>(sum[i]);
}

/// dweight of channels [c, c + n), n ≤ lanes, and of the kernel's row kh.
template <class T>
SWAPADVISOR_MULTIVERSION void weigh_kernel_row(const Depthwise& d, const T* x, const T* dy, std::int64_t kh,
                                               std::int64_t c, std::int64_t n, T* gradient) {
  const Interval outputs = d.h.outputs_of_tap(kh);
  for (std::int64_t first = 0; first < d.w.kernel; first += most_columns) {
    const std::int64_t columns = std::min(most_columns, d.w.kernel - first);
    double total[most_columns * lanes];
    std::fill_n(total, columns * lanes, 0.0);
    for (std::int64_t image = 0; image < d.batch; ++image)
      for (std::int64_t oh = outputs.begin; oh < outputs.end; ++oh) {
        const T* in = d.input(x, image, oh * d.h.stride - d.h.padding + kh, 0);
        const T* out = d.output(dy, image, oh, 0);
        for (std::int64_t k = 0; k < columns; ++k)
          if (n == lanes)
            weigh_row(d, in, out, first + k, c, lanes, total + k * lanes);
          else
            weigh_row(d, in, out, first + k, c, n, total + k * lanes);
      }
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < columns; ++k)
        gradient[(c + i) * d.taps() + kh * d.w.kernel + first + k] = static_cast<T>(total[k * lanes + i]);
  }
}

/// Rows of `width` pixels worth a thread.
std::int64_t row_grain(const Depthwise& d, std::int64_t width) {
  return std::max<std::int64_t>(1, elementwise_grain / (width * d.channels));
}

template <class T>
std::unique_ptr<Kernel> forward(const Depthwise& d) {
  return make_kernel(
      [d](const KernelArgs& args) {
        T* weight = static_cast<T*>(args.workspace);
        pack(d, args.in<T>(1), weight);
        parallel_for(d.batch * d.h.outputs, row_grain(d, d.w.outputs), [&](std::int64_t b, std::int64_t e) {
          convolve_rows(d, args.in<T>(0), weight, args.out<T>(0), b, e);
        });
      },
      d.channels * d.taps() * static_cast<std::int64_t>(sizeof(T)));
}

template <class T>
std::unique_ptr<Kernel> backward_data(const Depthwise& d) {
  return make_kernel(
      [d](const KernelArgs& args) {
        T* weight = static_cast<T*>(args.workspace);
        pack(d, args.in<T>(1), weight);
        parallel_for(d.batch * d.h.size, row_grain(d, d.w.size), [&](std::int64_t b, std::int64_t e) {
          gather_rows(d, args.in<T>(0), weight, args.out<T>(0), b, e);
        });
      },
      d.channels * d.taps() * static_cast<std::int64_t>(sizeof(T)));
}

template <class T>
std::unique_ptr<Kernel> backward_weight(const Depthwise& d) {
  return make_kernel([d](const KernelArgs& args) {
    const std::int64_t blocks = (d.channels + lanes - 1) / lanes;
    parallel_for(blocks * d.h.kernel, 1, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t i = b; i < e; ++i) {
        const std::int64_t c = i / d.h.kernel * lanes;
        weigh_kernel_row(d, args.in<T>(0), args.in<T>(1), i % d.h.kernel, c, std::min(lanes, d.channels - c),
                         args.out<T>(0));
      }
    });
  });
}

bool applies(const Conv2dGeometry& g, const TensorSpec& x, const TensorSpec& y) {
  constexpr std::array<std::int64_t, 2> ones{1, 1};
  return g.options.groups == g.in_channels && g.in_channels == g.out_channels && g.in_channels > 1 &&
         g.options.dilation == ones && x.is_channels_last() && y.is_channels_last();
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> conv2d_depthwise(const KernelRequest& r) {
  if (r.op.type() == "conv2d") {
    const Conv2dGeometry g = conv2d_geometry(r.inputs[0], r.inputs[1], r.as<Conv2dOp>().options());
    return applies(g, r.inputs[0], r.outputs[0]) ? forward<T>(Depthwise(g)) : nullptr;
  }
  if (r.op.type() == "conv2d_backward_data") {
    const auto& op = r.as<Conv2dBackwardDataOp>();
    const Conv2dGeometry g = conv2d_geometry(r.outputs[0], r.inputs[1], op.options());
    return applies(g, r.outputs[0], r.inputs[0]) ? backward_data<T>(Depthwise(g)) : nullptr;
  }
  const auto& op = r.as<Conv2dBackwardWeightOp>();
  const Conv2dGeometry g = conv2d_geometry(r.inputs[0], r.outputs[0], op.options());
  return applies(g, r.inputs[0], r.inputs[1]) ? backward_weight<T>(Depthwise(g)) : nullptr;
}

template std::unique_ptr<Kernel> conv2d_depthwise<float>(const KernelRequest&);
template std::unique_ptr<Kernel> conv2d_depthwise<double>(const KernelRequest&);

}  // namespace swapadvisor
