// softmax and softmax_backward, sums in double. Own kernels, since cuDNN's softmax takes no masks: a row is
// read once into registers by a warp, or by a block when it is long; only the longest are read again. Keys
// that a causal row does not see are neither read nor computed.
#include <swapadvisor/ops/cuda/block_reduce.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/softmax.h>

#include <cmath>
#include <limits>

namespace swapadvisor::cuda {
namespace {

struct Rows {
  Rows(const TensorSpec& scores, const SoftmaxOptions& options)
      : keys(scores.shape[scores.rank() - 1]),
        rows(scores.numel() / keys),
        queries(scores.rank() > 1 ? scores.shape[scores.rank() - 2] : 1),
        per_sample(scores.rank() > 1 ? rows / scores.shape[0] : 1),
        scale(options.scale),
        causal(options.causal) {}
  __device__ std::int64_t seen(std::int64_t row) const {
    return causal ? row % queries + keys - queries + 1 : keys;
  }

  std::int64_t keys, rows, queries, per_sample;
  double scale;
  bool causal;
};

/// Elements of a row that belong to this thread: values(i) computed once, or each time when `per_thread` is
/// 0.
template <int row_threads, int per_thread, class A, class Value>
class OwnValues {
 public:
  __device__ OwnValues(Value value, std::int64_t n) : value_(value), n_(n) {
    if constexpr (per_thread > 0) {
      SWAPADVISOR_UNROLL
      for (int k = 0; k < per_thread; ++k)
        if (number(k) < n) values_[k] = value(number(k));
    }
  }
  /// Calls f(element's number, value).
  template <class F>
  __device__ void for_each(F f) const {
    if constexpr (per_thread > 0) {
      SWAPADVISOR_UNROLL
      for (int k = 0; k < per_thread; ++k)
        if (number(k) < n_) f(number(k), values_[k]);
    } else {
      for (std::int64_t i = number(0); i < n_; i += row_threads) f(i, value_(i));
    }
  }

 private:
  __device__ static std::int64_t number(int k) {
    return static_cast<int>(threadIdx.x) % row_threads + k * row_threads;
  }

  Value value_;
  std::int64_t n_;
  A values_[per_thread > 0 ? per_thread : 1];
};

/// Zeros for the keys from n on.
template <int row_threads, class T>
__device__ inline void clear_rest(T* row, std::int64_t n, std::int64_t keys) {
  for (std::int64_t i = n + static_cast<int>(threadIdx.x) % row_threads; i < keys; i += row_threads)
    row[i] = static_cast<T>(Acc<T>(0));
}

template <int row_threads, int per_thread, class T>
__global__ void __launch_bounds__(rows_block_threads)
    softmax_rows(Rows rows, T* y, const T* scores, const std::int32_t* mask) {
  using A = Acc<T>;
  constexpr A lowest = -std::numeric_limits<A>::infinity();
  const std::int64_t row = row_of_block<row_threads>();
  const bool present = row < rows.rows;
  const std::int64_t at = present ? row : 0, n = present ? rows.seen(row) : 0;
  const T* x = scores + at * rows.keys;
  const std::int32_t* seen = mask == nullptr ? nullptr : mask + at / rows.per_sample * rows.keys;
  const A scale = static_cast<A>(rows.scale);
  const auto value = [=](std::int64_t i) -> A {
    return seen != nullptr && seen[i] == 0 ? lowest : widen(x[i]) * scale;
  };
  const OwnValues<row_threads, per_thread, A, decltype(value)> values(value, n);
  A most = lowest;
  values.for_each([&](std::int64_t, A v) { most = v > most ? v : most; });
  most = row_reduce<row_threads>(most, Greater());
  // No key is seen, or all are NaN: the exponentials below are 0 or NaN.
  if (most == lowest) most = 0;
  double sum = 0;
  values.for_each([&](std::int64_t, A v) { sum += std::exp(v - most); });
  sum = row_reduce<row_threads>(sum, Plus());
  const A inverse = sum == 0 ? A(0) : static_cast<A>(1 / sum);
  T* result = y + at * rows.keys;
  values.for_each([&](std::int64_t i, A v) { result[i] = static_cast<T>(std::exp(v - most) * inverse); });
  if (present) clear_rest<row_threads>(result, n, rows.keys);
}

template <class A>
struct Slope {
  A dy, y;
};

/// dx = scale·y·(dy − Σ dy·y).
template <int row_threads, int per_thread, class T>
__global__ void __launch_bounds__(rows_block_threads)
    differentiate_rows(Rows rows, T* dx, const T* dy, const T* y) {
  using A = Acc<T>;
  const std::int64_t row = row_of_block<row_threads>();
  const bool present = row < rows.rows;
  const std::int64_t at = (present ? row : 0) * rows.keys, n = present ? rows.seen(row) : 0;
  const auto value = [=](std::int64_t i) -> Slope<A> { return {widen(dy[at + i]), widen(y[at + i])}; };
  const OwnValues<row_threads, per_thread, Slope<A>, decltype(value)> values(value, n);
  double total = 0;
  values.for_each([&](std::int64_t, Slope<A> v) { total += v.dy * v.y; });
  const A sum = static_cast<A>(row_reduce<row_threads>(total, Plus()));
  const A scale = static_cast<A>(rows.scale);
  values.for_each(
      [&](std::int64_t i, Slope<A> v) { dx[at + i] = static_cast<T>((v.dy - sum) * v.y * scale); });
  if (present) clear_rest<row_threads>(dx + at, n, rows.keys);
}

/// Calls f(Width<threads per row>(), Width<elements in registers per thread>()).
template <class F>
void with_row_shape(std::int64_t keys, F f) {
  if (keys <= 4 * warp_threads) return f(Width<warp_threads>(), Width<4>());
  if (keys <= 16 * warp_threads) return f(Width<warp_threads>(), Width<16>());
  if (keys <= 16 * rows_block_threads) return f(Width<rows_block_threads>(), Width<16>());
  f(Width<rows_block_threads>(), Width<0>());
}

template <class T>
void forward(cudaStream_t stream, const Rows& rows, bool masked, const KernelArgs& args) {
  const std::int32_t* mask = masked ? args.in<std::int32_t>(1) : nullptr;
  with_row_shape(rows.keys, [&]<int row_threads, int per_thread>(Width<row_threads>, Width<per_thread>) {
    launch(softmax_rows<row_threads, per_thread, T>, row_blocks(rows.rows, row_threads), rows_block_threads,
           0, stream, rows, args.out<T>(0), args.in<T>(0), mask);
  });
}

template <class T>
void backward(cudaStream_t stream, const Rows& rows, const KernelArgs& args) {
  with_row_shape(rows.keys, [&]<int row_threads, int per_thread>(Width<row_threads>, Width<per_thread>) {
    launch(differentiate_rows<row_threads, per_thread, T>, row_blocks(rows.rows, row_threads),
           rows_block_threads, 0, stream, rows, args.out<T>(0), args.in<T>(0), args.in<T>(1));
  });
}

}  // namespace

void add_softmax_kernels(KernelSet& set) {
  set.add("softmax", [](const KernelRequest& request) {
    const Rows rows(request.inputs[0], request.as<SoftmaxOp>().options());
    const bool masked = request.inputs.size() > 1;
    return visit_elements(request.inputs[0].dtype, [=]<class T>() {
      return device_kernel(
          [=](cudaStream_t stream, const KernelArgs& args) { forward<T>(stream, rows, masked, args); });
    });
  });
  set.add("softmax_backward", [](const KernelRequest& request) {
    const Rows rows(request.inputs[1], request.as<SoftmaxBackwardOp>().options());
    return visit_elements(request.inputs[1].dtype, [=]<class T>() {
      return device_kernel(
          [=](cudaStream_t stream, const KernelArgs& args) { backward<T>(stream, rows, args); });
    });
  });
}

}  // namespace swapadvisor::cuda
