#include <swapadvisor/ops/cuda/block_reduce.h>
#include <swapadvisor/ops/cuda/conv2d_own.h>
#include <swapadvisor/ops/cuda/elements.h>

namespace swapadvisor::cuda {
namespace {

/// An element's indices, from its number in row-major order of [?, b, c, d].
struct Index {
  std::int64_t n, c, h, w;
  __device__ Index(std::int64_t i, std::int64_t channels, std::int64_t height, std::int64_t width) {
    w = i % width;
    h = i / width % height;
    c = i / (width * height) % channels;
    n = i / (width * height * channels);
  }
};

__device__ inline std::int64_t offset(const std::int64_t (&step)[4], std::int64_t n, std::int64_t c,
                                      std::int64_t h, std::int64_t w) {
  return n * step[0] + c * step[1] + h * step[2] + w * step[3];
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    convolve(ConvolutionShape s, const T* x, const T* weight, T* y) {
  const std::int64_t count = s.batch * s.out_channels * s.out_height * s.out_width;
  const std::int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const Index o(i, s.out_channels, s.out_height, s.out_width);
    const T* taps = weight + o.c * group_in * s.kernel_height * s.kernel_width;
    Acc<T> sum = 0;
    for (std::int64_t c = 0; c < group_in; ++c)
      for (std::int64_t kh = 0; kh < s.kernel_height; ++kh) {
        const std::int64_t h = o.h * s.stride[0] - s.padding[0] + kh * s.dilation[0];
        if (h < 0 || h >= s.height) continue;
        for (std::int64_t kw = 0; kw < s.kernel_width; ++kw) {
          const std::int64_t w = o.w * s.stride[1] - s.padding[1] + kw * s.dilation[1];
          if (w < 0 || w >= s.width) continue;
          sum += widen(x[offset(s.x_step, o.n, o.c / group_out * group_in + c, h, w)]) *
                 widen(taps[(c * s.kernel_height + kh) * s.kernel_width + kw]);
        }
      }
    y[offset(s.y_step, o.n, o.c, o.h, o.w)] = static_cast<T>(sum);
  }
}

/// The output that tap k of its window reads input i, or −1.
__device__ inline std::int64_t output_of(const ConvolutionShape& s, int axis, std::int64_t i, std::int64_t k,
                                         std::int64_t outputs) {
  const std::int64_t at = i + s.padding[axis] - k * s.dilation[axis];
  if (at < 0 || at % s.stride[axis] != 0) return -1;
  return at / s.stride[axis] < outputs ? at / s.stride[axis] : -1;
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    gather_gradient(ConvolutionShape s, const T* dy, const T* weight, T* dx) {
  const std::int64_t count = s.batch * s.in_channels * s.height * s.width;
  const std::int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const Index p(i, s.in_channels, s.height, s.width);
    const std::int64_t first = p.c / group_in * group_out;
    Acc<T> sum = 0;
    for (std::int64_t o = first; o < first + group_out; ++o)
      for (std::int64_t kh = 0; kh < s.kernel_height; ++kh) {
        const std::int64_t oh = output_of(s, 0, p.h, kh, s.out_height);
        if (oh < 0) continue;
        for (std::int64_t kw = 0; kw < s.kernel_width; ++kw) {
          const std::int64_t ow = output_of(s, 1, p.w, kw, s.out_width);
          if (ow < 0) continue;
          const std::int64_t tap =
              ((o * group_in + p.c % group_in) * s.kernel_height + kh) * s.kernel_width + kw;
          sum += widen(dy[offset(s.y_step, p.n, o, oh, ow)]) * widen(weight[tap]);
        }
      }
    dx[offset(s.x_step, p.n, p.c, p.h, p.w)] = static_cast<T>(sum);
  }
}

// A warp per element: sums over all outputs, in a fixed order.
template <class T>
__global__ void __launch_bounds__(rows_block_threads)
    sum_weight_gradient(ConvolutionShape s, std::int64_t taps, const T* x, const T* dy, T* dweight) {
  const std::int64_t element = row_of_block<warp_threads>();
  const std::int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  const Index tap(element, group_in, s.kernel_height, s.kernel_width);  // n: the output channel
  const std::int64_t channel = tap.n / group_out * group_in + tap.c;
  const std::int64_t count = element < taps ? s.batch * s.out_height * s.out_width : 0;
  Acc<T> sum = 0;
  for (std::int64_t i = threadIdx.x % warp_threads; i < count; i += warp_threads) {
    const Index o(i, 1, s.out_height, s.out_width);
    const std::int64_t h = o.h * s.stride[0] - s.padding[0] + tap.h * s.dilation[0];
    const std::int64_t w = o.w * s.stride[1] - s.padding[1] + tap.w * s.dilation[1];
    if (h < 0 || h >= s.height || w < 0 || w >= s.width) continue;
    sum += widen(dy[offset(s.y_step, o.n, tap.n, o.h, o.w)]) * widen(x[offset(s.x_step, o.n, channel, h, w)]);
  }
  sum = warp_reduce(sum, Plus());
  if (element < taps && threadIdx.x % warp_threads == 0) dweight[element] = static_cast<T>(sum);
}

template <class Word>
__global__ void __launch_bounds__(element_threads)
    transpose_words(std::int64_t outer, std::int64_t rows, std::int64_t columns, const Word* from, Word* to) {
  const std::int64_t count = outer * rows * columns;
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const std::int64_t row = i % rows, column = i / rows % columns, o = i / (rows * columns);
    to[i] = from[(o * rows + row) * columns + column];
  }
}

void copy_steps(const TensorSpec& spec, std::int64_t (&step)[4]) {
  for (int d = 0; d < 4; ++d) step[d] = spec.shape[d] == 1 ? 0 : spec.strides[d];
}

}  // namespace

ConvolutionShape::ConvolutionShape(const TensorSpec& x, const TensorSpec& y, const Conv2dGeometry& g)
    : batch(g.batch),
      in_channels(g.in_channels),
      height(g.height),
      width(g.width),
      out_channels(g.out_channels),
      out_height(g.out_height),
      out_width(g.out_width),
      kernel_height(g.kernel_height),
      kernel_width(g.kernel_width),
      groups(g.options.groups) {
  for (std::size_t d = 0; d < 2; ++d) {
    stride[d] = g.options.stride[d];
    padding[d] = g.options.padding[d];
    dilation[d] = g.options.dilation[d];
  }
  copy_steps(x, x_step);
  copy_steps(y, y_step);
}

void queue_convolution(cudaStream_t stream, DType dtype, const ConvolutionShape& s, const void* x,
                       const void* weight, void* y) {
  const dim3 grid = element_blocks(s.batch * s.out_channels * s.out_height * s.out_width);
  visit_elements(dtype, [&]<class T>() {
    launch(convolve<T>, grid, element_threads, 0, stream, s, static_cast<const T*>(x),
           static_cast<const T*>(weight), static_cast<T*>(y));
  });
}

void queue_convolution_backward_data(cudaStream_t stream, DType dtype, const ConvolutionShape& s,
                                     const void* dy, const void* weight, void* dx) {
  const dim3 grid = element_blocks(s.batch * s.in_channels * s.height * s.width);
  visit_elements(dtype, [&]<class T>() {
    launch(gather_gradient<T>, grid, element_threads, 0, stream, s, static_cast<const T*>(dy),
           static_cast<const T*>(weight), static_cast<T*>(dx));
  });
}

void queue_convolution_backward_weight(cudaStream_t stream, DType dtype, const ConvolutionShape& s,
                                       const void* x, const void* dy, void* dweight) {
  const std::int64_t taps = s.out_channels * (s.in_channels / s.groups) * s.kernel_height * s.kernel_width;
  visit_elements(dtype, [&]<class T>() {
    launch(sum_weight_gradient<T>, row_blocks(taps, warp_threads), rows_block_threads, 0, stream, s, taps,
           static_cast<const T*>(x), static_cast<const T*>(dy), static_cast<T*>(dweight));
  });
}

void queue_transposition(cudaStream_t stream, DType dtype, std::int64_t outer, std::int64_t rows,
                         std::int64_t columns, const void* from, void* to) {
  visit_elements(dtype, [&]<class T>() {
    launch(transpose_words<T>, element_blocks(outer * rows * columns), element_threads, 0, stream, outer,
           rows, columns, static_cast<const T*>(from), static_cast<T*>(to));
  });
}

}  // namespace swapadvisor::cuda
