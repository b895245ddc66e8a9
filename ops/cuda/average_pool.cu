// adaptive_avg_pool2d, global_avg_pool and their gradients. A row-major tensor is walked as N·C images of one
// channel; gradients gather.
#include <swapadvisor/ops/adaptive_avg_pool2d.h>
#include <swapadvisor/ops/cuda/block_reduce.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/global_avg_pool.h>

namespace swapadvisor::cuda {
namespace {

struct Window {
  std::int64_t begin, end;
  __device__ std::int64_t size() const { return end - begin; }
};

struct Axis {
  std::int64_t size, outputs;

  __device__ Window inputs(std::int64_t o) const {
    return {o * size / outputs, ((o + 1) * size + outputs - 1) / outputs};
  }
  /// Outputs whose window has input i in it.
  __device__ Window windows(std::int64_t i) const {
    return {i * outputs / size, ((i + 1) * outputs + size - 1) / size};
  }
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

/// Where element i of [image][height][width][channel] is.
struct Place {
  std::int64_t image, h, w, c;
  __device__ Place(std::int64_t i, std::int64_t height, std::int64_t width, std::int64_t channels) {
    c = i % channels;
    w = i / channels % width;
    h = i / channels / width % height;
    image = i / channels / width / height;
  }
};

template <class T>
__global__ void __launch_bounds__(element_threads) average_windows(Pool p, std::int64_t n, T* y, const T* x) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    const Place o(i, p.h.outputs, p.w.outputs, p.channels);
    const Window rows = p.h.inputs(o.h), cols = p.w.inputs(o.w);
    Acc<T> sum = 0;
    for (std::int64_t ih = rows.begin; ih < rows.end; ++ih)
      for (std::int64_t iw = cols.begin; iw < cols.end; ++iw)
        sum += widen(x[((o.image * p.h.size + ih) * p.w.size + iw) * p.channels + o.c]);
    y[i] = static_cast<T>(sum / static_cast<Acc<T>>(rows.size() * cols.size()));
  }
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    gather_windows(Pool p, std::int64_t n, T* dx, const T* dy) {
  using A = Acc<T>;
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    const Place at(i, p.h.size, p.w.size, p.channels);
    const Window rows = p.h.windows(at.h), cols = p.w.windows(at.w);
    A sum = 0;
    for (std::int64_t oh = rows.begin; oh < rows.end; ++oh)
      for (std::int64_t ow = cols.begin; ow < cols.end; ++ow) {
        const A share = A(1) / static_cast<A>(p.h.inputs(oh).size() * p.w.inputs(ow).size());
        sum += share * widen(dy[((at.image * p.h.outputs + oh) * p.w.outputs + ow) * p.channels + at.c]);
      }
    dx[i] = static_cast<T>(sum);
  }
}

struct Sizes {
  explicit Sizes(const TensorSpec& x)
      : batch(x.shape[0]),
        channels(x.shape[1]),
        pixels(x.shape[2] * x.shape[3]),
        channels_last(x.layout() == Layout::channels_last) {}
  std::int64_t means() const { return batch * channels; }

  std::int64_t batch, channels, pixels;
  bool channels_last;
};

// A warp per image and channel.
template <class T>
__global__ void __launch_bounds__(rows_block_threads)
    average_planes(std::int64_t planes, std::int64_t pixels, T* y, const T* x) {
  const std::int64_t plane = row_of_block<warp_threads>();
  double sum = 0;
  if (plane < planes)
    for (std::int64_t i = threadIdx.x % warp_threads; i < pixels; i += warp_threads)
      sum += static_cast<double>(widen(x[plane * pixels + i]));
  sum = warp_reduce(sum, Plus());
  if (plane < planes && threadIdx.x % warp_threads == 0)
    y[plane] = static_cast<T>(static_cast<Acc<T>>(sum / static_cast<double>(pixels)));
}

constexpr int column_width = 32, column_lines = 8;

// Channels side by side; the lines of a block share the pixels of an image.
template <class T>
__global__ void __launch_bounds__(column_width* column_lines)
    average_columns(std::int64_t channels, std::int64_t pixels, T* y, const T* x) {
  __shared__ double sums[column_lines][column_width];
  const int column = static_cast<int>(threadIdx.x) % column_width,
            line = static_cast<int>(threadIdx.x) / column_width;
  const std::int64_t blocks = (channels + column_width - 1) / column_width;
  const std::int64_t image = blockIdx.x / blocks, c = blockIdx.x % blocks * column_width + column;
  double sum = 0;
  if (c < channels)
    for (std::int64_t i = line; i < pixels; i += column_lines)
      sum += static_cast<double>(widen(x[(image * pixels + i) * channels + c]));
  sums[line][column] = sum;
  __syncthreads();
  if (line != 0 || c >= channels) return;
  for (int l = 1; l < column_lines; ++l) sum += sums[l][column];
  y[image * channels + c] = static_cast<T>(static_cast<Acc<T>>(sum / static_cast<double>(pixels)));
}

template <class T>
__global__ void __launch_bounds__(element_threads) spread(Sizes s, std::int64_t n, T* dx, const T* dy) {
  using A = Acc<T>;
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    const std::int64_t mean =
        s.channels_last ? i / (s.channels * s.pixels) * s.channels + i % s.channels : i / s.pixels;
    dx[i] = static_cast<T>(widen(dy[mean]) / static_cast<A>(s.pixels));
  }
}

template <class T>
void queue_means(cudaStream_t stream, const Sizes& s, const KernelArgs& args) {
  if (!s.channels_last) {
    launch(average_planes<T>, row_blocks(s.means(), warp_threads), rows_block_threads, 0, stream, s.means(),
           s.pixels, args.out<T>(0), args.in<T>(0));
    return;
  }
  const std::int64_t blocks = s.batch * ((s.channels + column_width - 1) / column_width);
  launch(average_columns<T>, static_cast<unsigned>(blocks), column_width * column_lines, 0, stream,
         s.channels, s.pixels, args.out<T>(0), args.in<T>(0));
}

}  // namespace

void add_average_pool_kernels(KernelSet& set) {
  set.add("adaptive_avg_pool2d", [](const KernelRequest& r) {
    const Pool p(r.inputs[0], r.outputs[0]);
    const std::int64_t n = r.outputs[0].numel();
    return visit_elements(r.inputs[0].dtype, [=]<class T>() {
      return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
        launch(average_windows<T>, element_blocks(n), element_threads, 0, stream, p, n, args.out<T>(0),
               args.in<T>(0));
      });
    });
  });
  set.add("adaptive_avg_pool2d_backward", [](const KernelRequest& r) {
    const Pool p(r.outputs[0], r.inputs[0]);
    const std::int64_t n = r.outputs[0].numel();
    return visit_elements(r.inputs[0].dtype, [=]<class T>() {
      return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
        launch(gather_windows<T>, element_blocks(n), element_threads, 0, stream, p, n, args.out<T>(0),
               args.in<T>(0));
      });
    });
  });
  set.add("global_avg_pool", [](const KernelRequest& r) {
    const Sizes s(r.inputs[0]);
    return visit_elements(r.inputs[0].dtype, [=]<class T>() {
      return device_kernel(
          [=](cudaStream_t stream, const KernelArgs& args) { queue_means<T>(stream, s, args); });
    });
  });
  set.add("global_avg_pool_backward", [](const KernelRequest& r) {
    const Sizes s(r.outputs[0]);
    const std::int64_t n = r.outputs[0].numel();
    return visit_elements(r.inputs[0].dtype, [=]<class T>() {
      return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
        launch(spread<T>, element_blocks(n), element_threads, 0, stream, s, n, args.out<T>(0), args.in<T>(0));
      });
    });
  });
}

}  // namespace swapadvisor::cuda
