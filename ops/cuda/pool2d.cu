// max_pool2d, avg_pool2d and their gradients. Own kernels: cuDNN's max pooling keeps no index, and its
// windows neither round up nor divide as the ops do. A row-major tensor is walked as N·C images of one
// channel; gradients gather, so every element is written by one thread in a fixed order.
#include <swapadvisor/ops/avg_pool2d.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/max_pool2d.h>

#include <algorithm>
#include <limits>

namespace swapadvisor::cuda {
namespace {

struct Interval {
  std::int64_t begin, end;
};

/// One axis: which inputs a window covers and which windows cover an input.
struct Axis {
  std::int64_t size, outputs, kernel, stride, padding;

  __device__ Interval inputs(std::int64_t o) const {
    const std::int64_t start = o * stride - padding, end = start + kernel;
    return {start < 0 ? 0 : start, end < size ? end : size};
  }
  __device__ Interval windows(std::int64_t i) const {
    const std::int64_t last = (i + padding) / stride, before = i + padding - kernel;
    return {before < 0 ? 0 : before / stride + 1, outputs < last + 1 ? outputs : last + 1};
  }
  __device__ std::int64_t tap(std::int64_t i, std::int64_t o) const { return i + padding - o * stride; }
  /// Elements that an average divides by; padding beyond `size + padding` never counts.
  __device__ std::int64_t count(std::int64_t o, bool include_padding) const {
    const std::int64_t start = o * stride - padding, end = start + kernel;
    if (include_padding) return (end < size + padding ? end : size + padding) - start;
    return inputs(o).end - inputs(o).begin;
  }
};

struct Pool {
  std::int64_t images, channels;
  Axis h, w;
  bool include_padding;
  bool narrow;  ///< numbers of elements fit 32 bits, whose division is several times faster

  Pool(const TensorSpec& x, const TensorSpec& y, const Pool2dOptions& options)
      : include_padding(options.count_include_pad) {
    const Pool2dGeometry g = pool2d_geometry(x, options);
    const bool channels_last = x.is_channels_last() && y.is_channels_last();
    images = channels_last ? g.batch : g.batch * g.channels;
    channels = channels_last ? g.channels : 1;
    h = {g.height, g.out_height, options.kernel[0], options.stride[0], options.padding[0]};
    w = {g.width, g.out_width, options.kernel[1], options.stride[1], options.padding[1]};
    narrow = std::max(x.numel(), y.numel()) <= std::numeric_limits<std::int32_t>::max();
  }
  __device__ std::int64_t input(std::int64_t image, std::int64_t ih, std::int64_t iw, std::int64_t c) const {
    return ((image * h.size + ih) * w.size + iw) * channels + c;
  }
  __device__ std::int64_t output(std::int64_t image, std::int64_t oh, std::int64_t ow, std::int64_t c) const {
    return ((image * h.outputs + oh) * w.outputs + ow) * channels + c;
  }
  __device__ std::int64_t divisor(std::int64_t oh, std::int64_t ow) const {
    return h.count(oh, include_padding) * w.count(ow, include_padding);
  }
  std::int64_t input_count() const { return images * h.size * w.size * channels; }
  std::int64_t output_count() const { return images * h.outputs * w.outputs * channels; }
};

/// Where element i of [image][height][width][channel] is.
struct Place {
  std::int64_t image, h, w, c;

  __device__ Place(const Pool& p, std::int64_t i, std::int64_t height, std::int64_t width) {
    if (p.narrow)
      split(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(height),
            static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(p.channels));
    else
      split(i, height, width, p.channels);
  }

 private:
  template <class Number>
  __device__ void split(Number i, Number height, Number width, Number channels) {
    const Number pixel = i / channels, row = pixel / width;
    c = i - pixel * channels;
    w = pixel - row * width;
    image = row / height;
    h = row % height;
  }
};

template <class T>
__global__ void __launch_bounds__(element_threads)
    find_maxima(Pool p, std::int64_t n, T* y, std::uint8_t* index, const T* x) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    const Place o(p, i, p.h.outputs, p.w.outputs);
    const Interval rows = p.h.inputs(o.h), cols = p.w.inputs(o.w);
    Acc<T> best = widen(x[p.input(o.image, rows.begin, cols.begin, o.c)]);
    std::int64_t where = p.h.tap(rows.begin, o.h) * p.w.kernel + p.w.tap(cols.begin, o.w);
    for (std::int64_t ih = rows.begin; ih < rows.end; ++ih)
      for (std::int64_t iw = cols.begin; iw < cols.end; ++iw) {
        const Acc<T> v = widen(x[p.input(o.image, ih, iw, o.c)]);
        if (!(v > best || v != v)) continue;
        best = v;
        where = p.h.tap(ih, o.h) * p.w.kernel + p.w.tap(iw, o.w);
      }
    y[i] = static_cast<T>(best);
    index[i] = static_cast<std::uint8_t>(where);
  }
}

template <class T>
__global__ void __launch_bounds__(element_threads) average(Pool p, std::int64_t n, T* y, const T* x) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    const Place o(p, i, p.h.outputs, p.w.outputs);
    const Interval rows = p.h.inputs(o.h), cols = p.w.inputs(o.w);
    Acc<T> sum = 0;
    for (std::int64_t ih = rows.begin; ih < rows.end; ++ih)
      for (std::int64_t iw = cols.begin; iw < cols.end; ++iw) sum += widen(x[p.input(o.image, ih, iw, o.c)]);
    y[i] = static_cast<T>(sum / static_cast<Acc<T>>(p.divisor(o.h, o.w)));
  }
}

/// Calls f(output's place, output's number) for the windows that cover an input.
template <class F>
__device__ inline void for_each_window(const Pool& p, const Place& at, F f) {
  const Interval rows = p.h.windows(at.h), cols = p.w.windows(at.w);
  for (std::int64_t oh = rows.begin; oh < rows.end; ++oh)
    for (std::int64_t ow = cols.begin; ow < cols.end; ++ow) f(oh, ow, p.output(at.image, oh, ow, at.c));
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    gather_maxima(Pool p, std::int64_t n, T* dx, const T* dy, const std::uint8_t* index) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    const Place at(p, i, p.h.size, p.w.size);
    Acc<T> sum = 0;
    for_each_window(p, at, [&](std::int64_t oh, std::int64_t ow, std::int64_t o) {
      const std::int64_t tap = p.h.tap(at.h, oh) * p.w.kernel + p.w.tap(at.w, ow);
      if (index[o] == static_cast<std::uint8_t>(tap)) sum += widen(dy[o]);
    });
    dx[i] = static_cast<T>(sum);
  }
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    gather_averages(Pool p, std::int64_t n, T* dx, const T* dy) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    const Place at(p, i, p.h.size, p.w.size);
    Acc<T> sum = 0;
    for_each_window(p, at, [&](std::int64_t oh, std::int64_t ow, std::int64_t o) {
      sum += widen(dy[o]) / static_cast<Acc<T>>(p.divisor(oh, ow));
    });
    dx[i] = static_cast<T>(sum);
  }
}

}  // namespace

void add_pool2d_kernels(KernelSet& set) {
  set.add("max_pool2d", [](const KernelRequest& r) {
    const Pool p(r.inputs[0], r.outputs[0], r.as<MaxPool2dOp>().options());
    return visit_elements(r.inputs[0].dtype, [p]<class T>() {
      return device_kernel([p, n = p.output_count()](cudaStream_t stream, const KernelArgs& args) {
        launch(find_maxima<T>, element_blocks(n), element_threads, 0, stream, p, n, args.out<T>(0),
               args.out<std::uint8_t>(1), args.in<T>(0));
      });
    });
  });
  set.add("max_pool2d_backward", [](const KernelRequest& r) {
    const Pool p(r.outputs[0], r.inputs[0], r.as<MaxPool2dBackwardOp>().options());
    return visit_elements(r.inputs[0].dtype, [p]<class T>() {
      return device_kernel([p, n = p.input_count()](cudaStream_t stream, const KernelArgs& args) {
        launch(gather_maxima<T>, element_blocks(n), element_threads, 0, stream, p, n, args.out<T>(0),
               args.in<T>(0), args.in<std::uint8_t>(1));
      });
    });
  });
  set.add("avg_pool2d", [](const KernelRequest& r) {
    const Pool p(r.inputs[0], r.outputs[0], r.as<AvgPool2dOp>().options());
    return visit_elements(r.inputs[0].dtype, [p]<class T>() {
      return device_kernel([p, n = p.output_count()](cudaStream_t stream, const KernelArgs& args) {
        launch(average<T>, element_blocks(n), element_threads, 0, stream, p, n, args.out<T>(0),
               args.in<T>(0));
      });
    });
  });
  set.add("avg_pool2d_backward", [](const KernelRequest& r) {
    const Pool p(r.outputs[0], r.inputs[0], r.as<AvgPool2dBackwardOp>().options());
    return visit_elements(r.inputs[0].dtype, [p]<class T>() {
      return device_kernel([p, n = p.input_count()](cudaStream_t stream, const KernelArgs& args) {
        launch(gather_averages<T>, element_blocks(n), element_threads, 0, stream, p, n, args.out<T>(0),
               args.in<T>(0));
      });
    });
  });
}

}  // namespace swapadvisor::cuda
