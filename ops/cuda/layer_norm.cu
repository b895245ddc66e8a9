// layer_norm and layer_norm_backward. A row is read once into registers by a warp, or by a block when it is
// long; only the longest are read again. `T` is the type of x, `W` of weights, `S` of statistics.
#include <swapadvisor/ops/cpu/workspace.h>
#include <swapadvisor/ops/cuda/block_reduce.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/layer_norm.h>

namespace swapadvisor::cuda {
namespace {

/// This thread's elements of a row, in registers (`per_thread` of them at most) or, when that is 0, in
/// memory.
template <int row_threads, int per_thread, class T>
class RowOf {
 public:
  __device__ RowOf(const T* row, std::int64_t n) : row_(row), n_(n) {
    if constexpr (per_thread > 0) {
      SWAPADVISOR_UNROLL
      for (int k = 0; k < per_thread; ++k) values_[k] = number(k) < n ? widen(row[number(k)]) : Acc<T>(0);
    }
  }
  __device__ std::int64_t size() const { return n_; }
  /// Of this thread's element k, in the row.
  __device__ static std::int64_t number(std::int64_t k) {
    return static_cast<int>(threadIdx.x) % row_threads + k * row_threads;
  }
  __device__ Acc<T> value(std::int64_t k) const {
    if constexpr (per_thread > 0)
      return values_[k];
    else
      return widen(row_[number(k)]);
  }

 private:
  const T* row_;
  std::int64_t n_;
  Acc<T> values_[per_thread > 0 ? per_thread : 1];
};

/// Calls f(element's number, value in a, value in b) for this thread's elements of two rows.
template <int row_threads, int per_thread, class T, class F>
__device__ inline void for_each_pair(const RowOf<row_threads, per_thread, T>& a,
                                     const RowOf<row_threads, per_thread, T>& b, F f) {
  if constexpr (per_thread > 0) {
    SWAPADVISOR_UNROLL
    for (int k = 0; k < per_thread; ++k)
      if (a.number(k) < a.size()) f(a.number(k), a.value(k), b.value(k));
  } else {
    for (std::int64_t k = 0; a.number(k) < a.size(); ++k) f(a.number(k), a.value(k), b.value(k));
  }
}

/// Calls f(element's number, value) for this thread's elements.
template <int row_threads, int per_thread, class T, class F>
__device__ inline void for_each(const RowOf<row_threads, per_thread, T>& row, F f) {
  for_each_pair(row, row, [&](std::int64_t i, Acc<T> v, Acc<T>) { f(i, v); });
}

template <int row_threads, int per_thread, class T, class W, class S>
__global__ void __launch_bounds__(rows_block_threads)
    normalise_rows(std::int64_t rows, std::int64_t n, double epsilon, T* y, S* mean_of, S* inverse_of,
                   const T* x, const W* weight, const W* bias) {
  using A = Acc<T>;
  const std::int64_t r = row_of_block<row_threads>();
  const bool present = r < rows;
  const RowOf<row_threads, per_thread, T> row(x + (present ? r : 0) * n, present ? n : 0);
  A sum = 0, squares = 0;
  for_each(row, [&](std::int64_t, A v) { sum += v; });
  const A mean = row_reduce<row_threads>(sum, Plus()) / static_cast<A>(n);
  for_each(row, [&](std::int64_t, A v) { squares += (v - mean) * (v - mean); });
  squares = row_reduce<row_threads>(squares, Plus());
  const A inverse = A(1) / std::sqrt(squares / static_cast<A>(n) + static_cast<A>(epsilon));
  for_each(row, [&](std::int64_t i, A v) {
    y[r * n + i] = static_cast<T>((v - mean) * inverse * widen(weight[i]) + widen(bias[i]));
  });
  if (!present || threadIdx.x % row_threads != 0) return;
  mean_of[r] = static_cast<S>(mean);
  inverse_of[r] = static_cast<S>(inverse);
}

/// With g = dy·weight and h = (x − mean)·inverse: dx = (g − mean of g − h·mean of g·h)·inverse.
template <int row_threads, int per_thread, class T, class W, class S>
__global__ void __launch_bounds__(rows_block_threads)
    differentiate_rows(std::int64_t rows, std::int64_t n, T* dx, const T* dy, const T* x, const W* weight,
                       const S* mean_of, const S* inverse_of) {
  using A = Acc<T>;
  const std::int64_t r = row_of_block<row_threads>(), at = r < rows ? r : 0;
  const std::int64_t size = r < rows ? n : 0;
  const A mean = widen(mean_of[at]), inverse = widen(inverse_of[at]);
  const RowOf<row_threads, per_thread, T> slope(dy + at * n, size), value(x + at * n, size);
  A sum_g = 0, sum_gh = 0;
  const auto add = [&](std::int64_t i, A dy_i, A x_i) {
    const A g = dy_i * widen(weight[i]);
    sum_g += g;
    sum_gh += g * ((x_i - mean) * inverse);
  };
  for_each_pair(slope, value, add);
  const A mean_g = row_reduce<row_threads>(sum_g, Plus()) / static_cast<A>(n);
  const A mean_gh = row_reduce<row_threads>(sum_gh, Plus()) / static_cast<A>(n);
  const auto store = [&](std::int64_t i, A dy_i, A x_i) {
    const A h = (x_i - mean) * inverse;
    dx[at * n + i] = static_cast<T>((dy_i * widen(weight[i]) - mean_g - h * mean_gh) * inverse);
  };
  for_each_pair(slope, value, store);
}

constexpr int column_width = 32, column_rows = 8;

/// Σ dy·h and Σ dy over the rows of a part, columns side by side: partial[part][two][n].
template <class T, class S>
__global__ void __launch_bounds__(column_width* column_rows)
    sum_columns(std::int64_t rows, std::int64_t n, std::int64_t parts, Acc<T>* partial, const T* dy,
                const T* x, const S* mean_of, const S* inverse_of) {
  using A = Acc<T>;
  __shared__ A sums[2][column_rows][column_width];
  const int column = static_cast<int>(threadIdx.x) % column_width,
            line = static_cast<int>(threadIdx.x) / column_width;
  const std::int64_t i = std::int64_t{blockIdx.x} * column_width + column, part = blockIdx.y;
  A of_weight = 0, of_bias = 0;
  if (i < n)
    for (std::int64_t r = rows * part / parts + line; r < rows * (part + 1) / parts; r += column_rows) {
      const A slope = widen(dy[r * n + i]);
      of_weight += slope * ((widen(x[r * n + i]) - widen(mean_of[r])) * widen(inverse_of[r]));
      of_bias += slope;
    }
  sums[0][line][column] = of_weight;
  sums[1][line][column] = of_bias;
  __syncthreads();
  if (line != 0 || i >= n) return;
  for (int l = 1; l < column_rows; ++l) {
    of_weight += sums[0][l][column];
    of_bias += sums[1][l][column];
  }
  partial[2 * part * n + i] = of_weight;
  partial[(2 * part + 1) * n + i] = of_bias;
}

template <class A, class W>
__global__ void __launch_bounds__(element_threads)
    add_parts(std::int64_t n, std::int64_t parts, W* dweight, W* dbias, const A* partial) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    A of_weight = 0, of_bias = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      of_weight += partial[2 * part * n + i];
      of_bias += partial[(2 * part + 1) * n + i];
    }
    dweight[i] = static_cast<W>(of_weight);
    dbias[i] = static_cast<W>(of_bias);
  }
}

template <class W>
__global__ void __launch_bounds__(element_threads) copy_elements(std::int64_t n, W* to, const W* from) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) to[i] = from[i];
}

struct Sizes {
  explicit Sizes(const TensorSpec& x)
      : features(x.shape[x.rank() - 1]),
        rows(x.numel() / features),
        parts(std::clamp<std::int64_t>(rows / 64, 1, 64)) {}

  std::int64_t features, rows;
  std::int64_t parts;  ///< partial sums over rows, fixed by the shape
};

/// Calls f(Width<threads per row>(), Width<elements in registers per thread>()).
template <class F>
void with_row_shape(std::int64_t features, F f) {
  if (features <= 8 * warp_threads) return f(Width<warp_threads>(), Width<8>());
  if (features <= 32 * warp_threads) return f(Width<warp_threads>(), Width<32>());
  if (features <= 16 * rows_block_threads) return f(Width<rows_block_threads>(), Width<16>());
  f(Width<rows_block_threads>(), Width<0>());
}

/// Whether a result may take the memory of the weights while other rows still need them: results may take
/// that of any operand of equal bytes. Then the weights are copied first.
bool may_overwrite_weights(const KernelRequest& request, const TensorSpec& weight) {
  for (const TensorSpec& result : request.outputs)
    if (result.bytes() == weight.bytes()) return true;
  return false;
}

template <class T, class W, class S>
void forward(cudaStream_t stream, const Sizes& s, double epsilon, bool copies, const KernelArgs& args) {
  const W *weight = args.in<W>(1), *bias = args.in<W>(2);
  if (copies) {
    W* copy = static_cast<W*>(args.workspace);
    for (const W* from : {weight, bias})
      launch(copy_elements<W>, element_blocks(s.features), element_threads, 0, stream, s.features,
             from == weight ? copy : copy + s.features, from);
    weight = copy, bias = copy + s.features;
  }
  with_row_shape(s.features, [&]<int row_threads, int per_thread>(Width<row_threads>, Width<per_thread>) {
    launch(normalise_rows<row_threads, per_thread, T, W, S>, row_blocks(s.rows, row_threads),
           rows_block_threads, 0, stream, s.rows, s.features, epsilon, args.out<T>(0), args.out<S>(1),
           args.out<S>(2), args.in<T>(0), weight, bias);
  });
}

template <class T, class W, class S>
void backward(cudaStream_t stream, const Sizes& s, bool copies, const KernelArgs& args) {
  using A = Acc<T>;
  A* partial = static_cast<A*>(args.workspace);
  const W* weight = args.in<W>(2);
  if (copies) {
    W* copy = reinterpret_cast<W*>(partial + 2 * s.parts * s.features);
    launch(copy_elements<W>, element_blocks(s.features), element_threads, 0, stream, s.features, copy,
           weight);
    weight = copy;
  }
  const dim3 grid(static_cast<unsigned>((s.features + column_width - 1) / column_width),
                  static_cast<unsigned>(s.parts));
  launch(sum_columns<T, S>, grid, column_width * column_rows, 0, stream, s.rows, s.features, s.parts, partial,
         args.in<T>(0), args.in<T>(1), args.in<S>(3), args.in<S>(4));
  // After the columns: dx may take the memory of dy, x or, where rows are that short, of a statistic.
  with_row_shape(s.features, [&]<int row_threads, int per_thread>(Width<row_threads>, Width<per_thread>) {
    launch(differentiate_rows<row_threads, per_thread, T, W, S>, row_blocks(s.rows, row_threads),
           rows_block_threads, 0, stream, s.rows, s.features, args.out<T>(0), args.in<T>(0), args.in<T>(1),
           weight, args.in<S>(3), args.in<S>(4));
  });
  launch(add_parts<A, W>, element_blocks(s.features), element_threads, 0, stream, s.features, s.parts,
         args.out<W>(1), args.out<W>(2), partial);
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

void add_layer_norm_kernels(KernelSet& set) {
  set.add("layer_norm", [](const KernelRequest& request) {
    const Sizes s(request.inputs[0]);
    const double epsilon = request.as<LayerNormOp>().epsilon();
    const bool copies = may_overwrite_weights(request, request.inputs[1]);
    const std::int64_t bytes = copies ? 2 * request.inputs[1].bytes() : 0;
    return visit_types(request.inputs[0].dtype, request.inputs[1].dtype, request.outputs[1].dtype,
                       [=]<class T, class W, class S>() {
                         return device_kernel(
                             [=](cudaStream_t stream, const KernelArgs& args) {
                               forward<T, W, S>(stream, s, epsilon, copies, args);
                             },
                             bytes);
                       });
  });
  set.add("layer_norm_backward", [](const KernelRequest& request) {
    const Sizes s(request.inputs[1]);
    const bool copies = may_overwrite_weights(request, request.inputs[2]);
    return visit_types(
        request.inputs[1].dtype, request.inputs[2].dtype, request.inputs[3].dtype,
        [=, &request]<class T, class W, class S>() {
          const std::int64_t sums = 2 * s.parts * s.features * static_cast<std::int64_t>(sizeof(Acc<T>));
          return device_kernel([=](cudaStream_t stream,
                                   const KernelArgs& args) { backward<T, W, S>(stream, s, copies, args); },
                               sums + (copies ? request.inputs[2].bytes() : 0));
        });
  });
}

}  // namespace swapadvisor::cuda
