// adaptive_avg_pool2d and its gradient. Inner loops run over the channels of one pixel; a row-major tensor is
// walked as N·C images of one channel. The gradient gathers, so every element is written by one thread in a
// fixed order.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/adaptive_avg_pool2d.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>

#include <algorithm>

namespace swapadvisor {
namespace {

struct Window {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

struct Axis {
  std::int64_t size, outputs;

  Window inputs(std::int64_t o) const {
    return {o * size / outputs, ((o + 1) * size + outputs - 1) / outputs};
  }
  /// Outputs whose window has input i in it.
  Window windows(std::int64_t i) const { return {i * outputs / size, ((i + 1) * outputs + size - 1) / size}; }
};

struct Pool {
  std::int64_t images, channels;
  Axis h, w;

  Pool(const TensorSpec& x, const TensorSpec& y) : h{x.shape[2], y.shape[2]}, w{x.shape[3], y.shape[3]} {
    const bool channels_last = x.is_channels_last() && y.is_channels_last();
    images = channels_last ? x.shape[0] : x.shape[0] * x.shape[1];
    channels = channels_last ? x.shape[1] : 1;
  }
};

template <class T>
SWAPADVISOR_MULTIVERSION void add_pixel(const T* x, T factor, T* sum, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t c = 0; c < n; ++c) sum[c] += x[c] * factor;
}

/// Rows [first, last) of y.
template <class T>
void average_rows(const Pool& p, const T* x, T* y, std::int64_t first, std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t image = row / p.h.outputs;
    const Window rows = p.h.inputs(row % p.h.outputs);
    for (std::int64_t ow = 0; ow < p.w.outputs; ++ow) {
      const Window cols = p.w.inputs(ow);
      T* mean = y + (row * p.w.outputs + ow) * p.channels;
      std::fill_n(mean, p.channels, T(0));
      for (std::int64_t ih = rows.begin; ih < rows.end; ++ih)
        for (std::int64_t iw = cols.begin; iw < cols.end; ++iw)
          add_pixel(x + ((image * p.h.size + ih) * p.w.size + iw) * p.channels, T(1), mean, p.channels);
      const T count = static_cast<T>(rows.size() * cols.size());
      for (std::int64_t c = 0; c < p.channels; ++c) mean[c] /= count;
    }
  }
}

/// Rows [first, last) of dx.
template <class T>
void gather_rows(const Pool& p, const T* dy, T* dx, std::int64_t first, std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t image = row / p.h.size;
    const Window rows = p.h.windows(row % p.h.size);
    for (std::int64_t iw = 0; iw < p.w.size; ++iw) {
      const Window cols = p.w.windows(iw);
      T* sum = dx + (row * p.w.size + iw) * p.channels;
      std::fill_n(sum, p.channels, T(0));
      for (std::int64_t oh = rows.begin; oh < rows.end; ++oh)
        for (std::int64_t ow = cols.begin; ow < cols.end; ++ow) {
          const T share = T(1) / static_cast<T>(p.h.inputs(oh).size() * p.w.inputs(ow).size());
          add_pixel(dy + ((image * p.h.outputs + oh) * p.w.outputs + ow) * p.channels, share, sum,
                    p.channels);
        }
    }
  }
}

/// Rows worth a thread, of tensors with `elements` in `rows` rows.
std::int64_t row_grain(std::int64_t elements, std::int64_t rows) {
  return std::max<std::int64_t>(1, elementwise_grain * rows / elements);
}

}  // namespace

void add_adaptive_pool_kernels(KernelSet& set) {
  set.add("adaptive_avg_pool2d", [](const KernelRequest& r) {
    const Pool p(r.inputs[0], r.outputs[0]);
    const std::int64_t rows = p.images * p.h.outputs;
    const std::int64_t grain = row_grain(std::max(r.inputs[0].numel(), r.outputs[0].numel()), rows);
    return visit_floating(r.inputs[0].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) {
        parallel_for(rows, grain, [&](std::int64_t b, std::int64_t e) {
          average_rows(p, args.in<T>(0), args.out<T>(0), b, e);
        });
      });
    });
  });
  set.add("adaptive_avg_pool2d_backward", [](const KernelRequest& r) {
    const Pool p(r.outputs[0], r.inputs[0]);
    const std::int64_t rows = p.images * p.h.size;
    const std::int64_t grain = row_grain(std::max(r.inputs[0].numel(), r.outputs[0].numel()), rows);
    return visit_floating(r.inputs[0].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) {
        parallel_for(rows, grain, [&](std::int64_t b, std::int64_t e) {
          gather_rows(p, args.in<T>(0), args.out<T>(0), b, e);
        });
      });
    });
  });
}

}  // namespace swapadvisor
