// batch_norm, its backward and inference forms. Own kernels: cuDNN's may not write over their operands, as
// the ops may, and take no weights of bf16. One pass for the statistics, one for the result. `T` is the type
// of x, `W` of weights, `S` of statistics.
//
// Elements are [outer][channels][inner], inner = 1 for channels-last tensors and matrices. Results may lie
// where operands of their size were, so coefficients go to the workspace first and small results are written
// last.
#include <swapadvisor/core/cuda/library_workspace.h>
#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/cuda/block_reduce.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace swapadvisor::cuda {
namespace {

constexpr int column_width = 32, column_lines = 8;

struct Geometry {
  explicit Geometry(const TensorSpec& x) {
    channels = x.shape[1];
    inner = x.layout() == Layout::channels_last ? 1 : x.numel() / (x.shape[0] * channels);
    outer = x.numel() / (channels * inner);
    narrow = x.numel() <= std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t per_thread = 16, most = 256;
    const std::int64_t together = inner > 1 ? element_threads : column_lines;
    parts = std::clamp<std::int64_t>(outer * inner / (together * per_thread), 1, most);
  }
  std::int64_t numel() const { return outer * channels * inner; }
  /// First element (or row) of a part of a channel's.
  __device__ std::int64_t begin(std::int64_t part) const { return outer * inner * part / parts; }
  __device__ std::int64_t channel(std::int64_t i) const {
    if (narrow) {
      const auto n = static_cast<std::uint32_t>(i), c = static_cast<std::uint32_t>(channels);
      return inner == 1 ? n % c : n / static_cast<std::uint32_t>(inner) % c;
    }
    return inner == 1 ? i % channels : i / inner % channels;
  }

  std::int64_t outer = 0, channels = 0, inner = 0;
  std::int64_t parts = 1;  ///< partial sums per channel, fixed by the shape
  bool narrow = true;
};

/// Two sums per part and channel, then coefficients per channel.
template <class A>
struct Workspace {
  static constexpr int coefficients = 4;
  static std::int64_t bytes(const Geometry& g) {
    return planned_bytes(2 * g.parts * g.channels * std::int64_t{sizeof(double)} +
                         coefficients * g.channels * std::int64_t{sizeof(A)});
  }
  Workspace(const Geometry& g, void* memory)
      : partial(reinterpret_cast<double*>(aligned_start(memory))),
        coefficient(reinterpret_cast<A*>(partial + 2 * g.parts * g.channels)) {}

  double* partial;  ///< [part][two][channels]
  A* coefficient;   ///< [four][channels]
};

/// Terms of the statistics: deviations from a sample of the channel, so that no large mean cancels, and their
/// squares.
template <class T>
struct Deviations {
  const T* x;
  std::int64_t inner;

  __device__ Acc<T> start(std::int64_t c) const { return widen(x[c * inner]); }
  __device__ void add(std::int64_t i, Acc<T> start, Acc<T>& first, Acc<T>& second) const {
    const Acc<T> deviation = widen(x[i]) - start;
    first += deviation;
    second += deviation * deviation;
  }
  template <class F>
  void for_each_pointer(F f) const {
    f(x);
  }
};

/// Terms of the gradients: dy and dy·(x − mean).
template <class T, class S>
struct Gradients {
  const T* dy;
  const T* x;
  const S* mean;

  __device__ Acc<T> start(std::int64_t c) const { return static_cast<Acc<T>>(widen(mean[c])); }
  __device__ void add(std::int64_t i, Acc<T> start, Acc<T>& first, Acc<T>& second) const {
    const Acc<T> slope = widen(dy[i]);
    first += slope;
    second += slope * (widen(x[i]) - start);
  }
  template <class F>
  void for_each_pointer(F f) const {
    f(dy), f(x), f(mean);
  }
};

// A block per channel and part; inner > 1.
template <class A, class Terms>
__global__ void __launch_bounds__(element_threads) sum_planes(Geometry g, Terms terms, double* partial) {
  const std::int64_t c = blockIdx.x, part = blockIdx.y;
  const A start = terms.start(c);
  A first = 0, second = 0;
  const std::int64_t begin = g.begin(part) + threadIdx.x, end = g.begin(part + 1);
  std::int64_t n = begin / g.inner, at = begin % g.inner;
  const std::int64_t step_n = element_threads / g.inner, step_at = element_threads % g.inner;
  for (std::int64_t i = begin; i < end; i += element_threads) {
    terms.add((n * g.channels + c) * g.inner + at, start, first, second);
    n += step_n;
    at += step_at;
    if (at >= g.inner) at -= g.inner, ++n;
  }
  const double total_first = block_reduce(static_cast<double>(first), Plus());
  const double total_second = block_reduce(static_cast<double>(second), Plus());
  if (threadIdx.x != 0) return;
  partial[2 * part * g.channels + c] = total_first;
  partial[(2 * part + 1) * g.channels + c] = total_second;
}

// Channels side by side, the rows of a part shared by the lines of a block; inner = 1.
template <class A, class Terms>
__global__ void __launch_bounds__(column_width* column_lines)
    sum_columns(Geometry g, Terms terms, double* partial) {
  __shared__ double sums[2][column_lines][column_width];
  const int column = static_cast<int>(threadIdx.x) % column_width,
            line = static_cast<int>(threadIdx.x) / column_width;
  const std::int64_t c = std::int64_t{blockIdx.x} * column_width + column, part = blockIdx.y;
  A first = 0, second = 0;
  if (c < g.channels) {
    const A start = terms.start(c);
    for (std::int64_t row = g.begin(part) + line; row < g.begin(part + 1); row += column_lines)
      terms.add(row * g.channels + c, start, first, second);
  }
  sums[0][line][column] = static_cast<double>(first);
  sums[1][line][column] = static_cast<double>(second);
  __syncthreads();
  if (line != 0 || c >= g.channels) return;
  double total_first = 0, total_second = 0;
  for (int l = 0; l < column_lines; ++l) {
    total_first += sums[0][l][column];
    total_second += sums[1][l][column];
  }
  partial[2 * part * g.channels + c] = total_first;
  partial[(2 * part + 1) * g.channels + c] = total_second;
}

template <class A, class Terms>
void queue_sums(cudaStream_t stream, const Geometry& g, const Terms& terms, double* partial) {
  const auto parts = static_cast<unsigned>(g.parts);
  if (g.inner > 1) {
    launch(sum_planes<A, Terms>, dim3(static_cast<unsigned>(g.channels), parts), element_threads, 0, stream,
           g, terms, partial);
    return;
  }
  const std::int64_t blocks = (g.channels + column_width - 1) / column_width;
  launch(sum_columns<A, Terms>, dim3(static_cast<unsigned>(blocks), parts), column_width * column_lines, 0,
         stream, g, terms, partial);
}

__device__ inline double sum_of_parts(const Geometry& g, const double* partial, int which, std::int64_t c) {
  double sum = 0;
  for (std::int64_t part = 0; part < g.parts; ++part) sum += partial[(2 * part + which) * g.channels + c];
  return sum;
}

/// Coefficients: mean, scale, shift, inverse deviation.
template <class T, class W>
__global__ void __launch_bounds__(element_threads)
    forward_coefficients(Geometry g, double epsilon, Acc<T>* out, const double* partial, const T* x,
                         const W* gamma, const W* beta) {
  using A = Acc<T>;
  const double count = static_cast<double>(g.outer * g.inner);
  for (std::int64_t c = thread_index(); c < g.channels; c += thread_count()) {
    const double offset = sum_of_parts(g, partial, 0, c) / count;
    const double variance = sum_of_parts(g, partial, 1, c) / count - offset * offset;
    const double inverse = 1 / std::sqrt((variance < 0 ? 0 : variance) + epsilon);
    out[c] = static_cast<A>(static_cast<double>(widen(x[c * g.inner])) + offset);
    out[g.channels + c] = static_cast<A>(static_cast<double>(widen(gamma[c])) * inverse);
    out[2 * g.channels + c] = static_cast<A>(widen(beta[c]));
    out[3 * g.channels + c] = static_cast<A>(inverse);
  }
}

template <class A, class W>
__global__ void __launch_bounds__(element_threads)
    inference_coefficients(Geometry g, double epsilon, A* out, const W* gamma, const W* beta, const W* mean,
                           const W* variance) {
  for (std::int64_t c = thread_index(); c < g.channels; c += thread_count()) {
    const double deviation = std::sqrt(static_cast<double>(widen(variance[c])) + epsilon);
    out[c] = static_cast<A>(widen(mean[c]));
    out[g.channels + c] = static_cast<A>(static_cast<double>(widen(gamma[c])) / deviation);
    out[2 * g.channels + c] = static_cast<A>(widen(beta[c]));
  }
}

/// Calls body(Width<w>(), first element, first channel, step of channels) for this thread's packs; the
/// elements of a pack are of one channel (step 0) or of neighbours (step 1).
template <int width, class Body>
__device__ inline void for_each_normalised(const Geometry& g, std::int64_t n, Body body) {
  for_each_pack<width>(n, [&](auto w, std::int64_t i) { body(w, i, g.channel(i), g.inner == 1 ? 1 : 0); });
}

template <int width, class T>
__global__ void __launch_bounds__(element_threads)
    normalise(Geometry g, std::int64_t n, T* y, const T* x, const Acc<T>* coefficient) {
  const Acc<T>*mean = coefficient, *scale = mean + g.channels, *shift = scale + g.channels;
  for_each_normalised<width>(g, n, [&](auto w, std::int64_t i, std::int64_t c, int step) {
    auto pack = load_pack<decltype(w)::value>(x + i);
    for (int k = 0; k < decltype(w)::value; ++k) {
      const std::int64_t at = c + k * step;
      pack.at[k] = static_cast<T>((widen(pack.at[k]) - mean[at]) * scale[at] + shift[at]);
    }
    store_pack(y + i, pack);
  });
}

template <class A, class S>
__global__ void __launch_bounds__(element_threads)
    store_statistics(std::int64_t channels, S* mean, S* inverse, const A* coefficient) {
  for (std::int64_t c = thread_index(); c < channels; c += thread_count()) {
    mean[c] = static_cast<S>(coefficient[c]);
    inverse[c] = static_cast<S>(coefficient[3 * channels + c]);
  }
}

/// Coefficients: mean, mean of dy, slope, scale. The sums of part 0 become dbeta and dgamma.
template <class A, class W, class S>
__global__ void __launch_bounds__(element_threads)
    backward_coefficients(Geometry g, A* out, double* partial, const W* gamma, const S* mean,
                          const S* inverse) {
  const double count = static_cast<double>(g.outer * g.inner);
  for (std::int64_t c = thread_index(); c < g.channels; c += thread_count()) {
    const double dbeta = sum_of_parts(g, partial, 0, c), moment = sum_of_parts(g, partial, 1, c);
    const double deviation = static_cast<double>(widen(inverse[c]));
    out[c] = static_cast<A>(widen(mean[c]));
    out[g.channels + c] = static_cast<A>(dbeta / count);
    out[2 * g.channels + c] = static_cast<A>(moment * deviation * deviation / count);
    out[3 * g.channels + c] = static_cast<A>(static_cast<double>(widen(gamma[c])) * deviation);
    partial[c] = dbeta;
    partial[g.channels + c] = moment * deviation;
  }
}

template <int width, class T>
__global__ void __launch_bounds__(element_threads)
    differentiate(Geometry g, std::int64_t n, T* dx, const T* dy, const T* x, const Acc<T>* coefficient) {
  const Acc<T>*mean = coefficient, *mean_dy = mean + g.channels, *slope = mean_dy + g.channels,
        *scale = slope + g.channels;
  for_each_normalised<width>(g, n, [&](auto w, std::int64_t i, std::int64_t c, int step) {
    auto pack = load_pack<decltype(w)::value>(dy + i);
    const auto value = load_pack<decltype(w)::value>(x + i);
    for (int k = 0; k < decltype(w)::value; ++k) {
      const std::int64_t at = c + k * step;
      const Acc<T> own = widen(pack.at[k]) - mean_dy[at] - (widen(value.at[k]) - mean[at]) * slope[at];
      pack.at[k] = static_cast<T>(own * scale[at]);
    }
    store_pack(dx + i, pack);
  });
}

template <class W>
__global__ void __launch_bounds__(element_threads)
    store_weight_gradients(std::int64_t channels, W* dgamma, W* dbeta, const double* sums) {
  for (std::int64_t c = thread_index(); c < channels; c += thread_count()) {
    dbeta[c] = static_cast<W>(static_cast<Acc<W>>(sums[c]));
    dgamma[c] = static_cast<W>(static_cast<Acc<W>>(sums[channels + c]));
  }
}

/// Calls f(Width<w>()): packs where addresses allow them and none has elements of two planes or rows.
template <class F, class... T>
void with_channel_width(const Geometry& g, F f, const T*... operands) {
  with_width(
      [&]<int width>(Width<width>) {
        if ((g.inner == 1 ? g.channels : g.inner) % width == 0)
          f(Width<width>());
        else
          f(Width<1>());
      },
      operands...);
}

template <class T>
void queue_normalisation(cudaStream_t stream, const Geometry& g, const KernelArgs& args,
                         const Acc<T>* coefficient) {
  const T* x = args.in<T>(0);
  T* y = args.out<T>(0);
  with_channel_width(
      g,
      [&]<int width>(Width<width>) {
        launch(normalise<width, T>, element_blocks(g.numel() / width), element_threads, 0, stream, g,
               g.numel(), y, x, coefficient);
      },
      x, static_cast<const T*>(y));
}

template <class T, class W, class S>
void forward(cudaStream_t stream, const Geometry& g, double epsilon, const KernelArgs& args) {
  using A = Acc<T>;
  const Workspace<A> w(g, args.workspace);
  const T* x = args.in<T>(0);
  const dim3 blocks = element_blocks(g.channels);
  queue_sums<A>(stream, g, Deviations<T>{x, g.inner}, w.partial);
  launch(forward_coefficients<T, W>, blocks, element_threads, 0, stream, g, epsilon, w.coefficient, w.partial,
         x, args.in<W>(1), args.in<W>(2));
  queue_normalisation<T>(stream, g, args, w.coefficient);
  launch(store_statistics<A, S>, blocks, element_threads, 0, stream, g.channels, args.out<S>(1),
         args.out<S>(2), w.coefficient);
}

template <class T, class W>
void inference(cudaStream_t stream, const Geometry& g, double epsilon, const KernelArgs& args) {
  const Workspace<Acc<T>> w(g, args.workspace);
  launch(inference_coefficients<Acc<T>, W>, element_blocks(g.channels), element_threads, 0, stream, g,
         epsilon, w.coefficient, args.in<W>(1), args.in<W>(2), args.in<W>(3), args.in<W>(4));
  queue_normalisation<T>(stream, g, args, w.coefficient);
}

template <class T, class W, class S>
void backward(cudaStream_t stream, const Geometry& g, const KernelArgs& args) {
  using A = Acc<T>;
  const Workspace<A> w(g, args.workspace);
  const T *dy = args.in<T>(0), *x = args.in<T>(1);
  T* dx = args.out<T>(0);
  const dim3 blocks = element_blocks(g.channels);
  queue_sums<A>(stream, g, Gradients<T, S>{dy, x, args.in<S>(3)}, w.partial);
  launch(backward_coefficients<A, W, S>, blocks, element_threads, 0, stream, g, w.coefficient, w.partial,
         args.in<W>(2), args.in<S>(3), args.in<S>(4));
  with_channel_width(
      g,
      [&]<int width>(Width<width>) {
        launch(differentiate<width, T>, element_blocks(g.numel() / width), element_threads, 0, stream, g,
               g.numel(), dx, dy, x, w.coefficient);
      },
      dy, x, static_cast<const T*>(dx));
  launch(store_weight_gradients<W>, blocks, element_threads, 0, stream, g.channels, args.out<W>(1),
         args.out<W>(2), w.partial);
}

/// Calls f<T, W, S>() for the types that occur: all alike, or narrow data with f32 weights and statistics.
template <class F>
std::unique_ptr<Kernel> visit_types(DType x, DType weight, DType statistic, F f) {
  if (x != DType::bf16) return visit_floating(x, [&]<class T>() { return f.template operator()<T, T, T>(); });
  if (weight == DType::f32) return f.template operator()<BFloat16, float, float>();
  if (statistic == DType::f32) return f.template operator()<BFloat16, BFloat16, float>();
  return f.template operator()<BFloat16, BFloat16, BFloat16>();
}

}  // namespace

void add_batch_norm_kernels(KernelSet& set) {
  set.add("batch_norm", [](const KernelRequest& r) {
    const Geometry g(r.inputs[0]);
    const double epsilon = r.as<BatchNormOp>().epsilon();
    return visit_types(
        r.inputs[0].dtype, r.inputs[1].dtype, r.outputs[1].dtype, [=]<class T, class W, class S>() {
          return device_kernel([=](cudaStream_t stream,
                                   const KernelArgs& args) { forward<T, W, S>(stream, g, epsilon, args); },
                               Workspace<Acc<T>>::bytes(g));
        });
  });
  set.add("batch_norm_inference", [](const KernelRequest& r) {
    const Geometry g(r.inputs[0]);
    const double epsilon = r.as<BatchNormInferenceOp>().epsilon();
    return visit_types(
        r.inputs[0].dtype, r.inputs[1].dtype, r.inputs[1].dtype, [=]<class T, class W, class>() {
          return device_kernel(
              [=](cudaStream_t stream, const KernelArgs& args) { inference<T, W>(stream, g, epsilon, args); },
              Workspace<Acc<T>>::bytes(g));
        });
  });
  set.add("batch_norm_backward", [](const KernelRequest& r) {
    const Geometry g(r.inputs[1]);
    return visit_types(
        r.inputs[1].dtype, r.inputs[2].dtype, r.inputs[3].dtype, [=]<class T, class W, class S>() {
          return device_kernel(
              [=](cudaStream_t stream, const KernelArgs& args) { backward<T, W, S>(stream, g, args); },
              Workspace<Acc<T>>::bytes(g));
        });
  });
}

}  // namespace swapadvisor::cuda
