// softmax_cross_entropy, its backward op, correct_count, label_count: one pass over a row, by a warp or by a
// block. `L` is the type of the loss.
#include <swapadvisor/ops/cuda/block_reduce.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <cmath>
#include <limits>

namespace swapadvisor::cuda {
namespace {

struct Rows {
  std::int64_t rows, classes;
  double smoothing;
};

/// Largest element, Σ e^(x − largest), Σ x of a row.
template <class A>
struct RowSums {
  A largest, exponentials, values;
};

/// Online: the sum of exponentials is scaled whenever a larger element turns up. All threads of the row get
/// it.
template <int row_threads, class T>
__device__ inline RowSums<Acc<T>> row_sums(const T* x, std::int64_t n) {
  using A = Acc<T>;
  constexpr A lowest = -std::numeric_limits<A>::infinity();
  RowSums<A> sums{lowest, 0, 0};
  for (std::int64_t i = threadIdx.x % row_threads; i < n; i += row_threads) {
    const A v = widen(x[i]);
    if (v > sums.largest) {
      sums.exponentials = sums.exponentials * std::exp(sums.largest - v) + A(1);
      sums.largest = v;
    } else {
      sums.exponentials += std::exp(v - sums.largest);
    }
    sums.values += v;
  }
  const A largest = row_reduce<row_threads>(sums.largest, Greater());
  // Threads without an element have nothing to scale.
  const A scale = sums.largest == lowest ? A(1) : std::exp(sums.largest - largest);
  return {largest, row_reduce<row_threads>(sums.exponentials * scale, Plus()),
          row_reduce<row_threads>(sums.values, Plus())};
}

template <int row_threads, class T>
__global__ void __launch_bounds__(rows_block_threads)
    row_losses(Rows r, double* losses, const T* logits, const std::int32_t* labels) {
  const std::int64_t n = row_of_block<row_threads>();
  const bool present = n < r.rows;
  const T* x = logits + (present ? n : 0) * r.classes;
  const auto sums = row_sums<row_threads>(x, present ? r.classes : 0);
  if (!present || threadIdx.x % row_threads != 0) return;
  const std::int32_t label = labels[n];
  if (label == ignored_label) {
    losses[n] = 0;
  } else if (label < 0 || label >= r.classes) {
    losses[n] = std::numeric_limits<double>::quiet_NaN();
  } else {
    const double logarithm = double(sums.largest) + double(std::log(sums.exponentials));
    losses[n] = logarithm - (1 - r.smoothing) * double(widen(x[label])) -
                r.smoothing * double(sums.values) / static_cast<double>(r.classes);
  }
}

/// Labels that count, in every thread of the block.
__device__ inline int count_valid(const std::int32_t* labels, std::int64_t rows) {
  int valid = 0;
  for (std::int64_t n = threadIdx.x; n < rows; n += blockDim.x) valid += labels[n] != ignored_label;
  return block_reduce(valid, Plus());
}

// One block: the mean over the rows that count.
template <class L>
__global__ void __launch_bounds__(element_threads)
    mean_loss(std::int64_t rows, L* loss, const double* losses, const std::int32_t* labels) {
  double sum = 0;
  for (std::int64_t n = threadIdx.x; n < rows; n += blockDim.x) sum += losses[n];
  sum = block_reduce(sum, Plus());
  const int valid = count_valid(labels, rows);
  if (threadIdx.x == 0) *loss = static_cast<L>(valid == 0 ? 0.0 : sum / valid);
}

// One block: what every row's gradient is multiplied by.
template <class A, class L>
__global__ void __launch_bounds__(element_threads)
    gradient_factor(std::int64_t rows, A* factor, const L* dloss, const std::int32_t* labels) {
  const int valid = count_valid(labels, rows);
  if (threadIdx.x == 0) *factor = static_cast<A>(widen(*dloss)) / static_cast<A>(valid > 1 ? valid : 1);
}

/// A row's label is read before the row is written, whose memory may be the label's.
template <int row_threads, class T>
__global__ void __launch_bounds__(rows_block_threads)
    row_gradients(Rows r, T* dlogits, const T* logits, const std::int32_t* labels, const Acc<T>* factor_of) {
  using A = Acc<T>;
  const std::int64_t n = row_of_block<row_threads>(), at = n < r.rows ? n : 0;
  const std::int64_t classes = n < r.rows ? r.classes : 0;
  const T* x = logits + at * r.classes;
  T* y = dlogits + at * r.classes;
  const std::int32_t label = labels[at];
  const A factor = *factor_of;
  const auto sums = row_sums<row_threads>(x, classes);
  const A inverse = A(1) / sums.exponentials;
  const double floor = r.smoothing / static_cast<double>(r.classes);
  const A elsewhere = static_cast<A>(floor), there = static_cast<A>(1 - r.smoothing + floor);
  const bool wrong = label < 0 || label >= r.classes;
  for (std::int64_t i = threadIdx.x % row_threads; i < classes; i += row_threads) {
    const A probability = std::exp(widen(x[i]) - sums.largest) * inverse;
    A slope = (probability - (i == label ? there : elsewhere)) * factor;
    if (wrong) slope = label == ignored_label ? A(0) : std::numeric_limits<A>::quiet_NaN();
    y[i] = static_cast<T>(slope);
  }
}

/// Whether (a, i) comes before (b, j) as the row's largest: the first NaN, else the first largest.
template <class A>
__device__ inline bool is_better(A a, std::int64_t i, A b, std::int64_t j) {
  if (j < 0 || i < 0) return j < 0 && i >= 0;
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan != b_nan) return a_nan;
  return a_nan || a == b ? i < j : a > b;
}

/// flags[row] = 1 where the largest logit is the label's. Blocks are warps' rows.
template <class T>
__global__ void __launch_bounds__(rows_block_threads)
    compare_rows(Rows r, std::int32_t* flags, const T* logits, const std::int32_t* labels) {
  using A = Acc<T>;
  const std::int64_t n = row_of_block<warp_threads>(), at = n < r.rows ? n : 0;
  const T* x = logits + at * r.classes;
  A best = 0;
  std::int64_t index = -1;
  for (std::int64_t i = threadIdx.x % warp_threads; i < r.classes; i += warp_threads) {
    const A v = widen(x[i]);
    if (is_better(v, i, best, index)) best = v, index = i;
  }
  for (int lanes = warp_threads / 2; lanes > 0; lanes /= 2) {
    const A other = __shfl_xor_sync(whole_warp, best, lanes);
    const std::int64_t number = __shfl_xor_sync(whole_warp, static_cast<long long>(index), lanes);
    if (is_better(other, number, best, index)) best = other, index = number;
  }
  if (n < r.rows && threadIdx.x % warp_threads == 0) flags[n] = index == labels[n];
}

// One block.
__global__ void __launch_bounds__(element_threads)
    add_flags(std::int64_t rows, std::int64_t* count, const std::int32_t* flags) {
  int sum = 0;
  for (std::int64_t n = threadIdx.x; n < rows; n += blockDim.x) sum += flags[n];
  sum = block_reduce(sum, Plus());
  if (threadIdx.x == 0) *count = sum;
}

// One block.
__global__ void __launch_bounds__(element_threads)
    count_labels(std::int64_t rows, std::int64_t* count, const std::int32_t* labels) {
  const int valid = count_valid(labels, rows);
  if (threadIdx.x == 0) *count = valid;
}

/// Calls f(Width<threads per row>()).
template <class F>
void with_row_threads(std::int64_t classes, F f) {
  if (classes <= 16 * warp_threads) return f(Width<warp_threads>());
  f(Width<rows_block_threads>());
}

template <class T, class L>
void loss_forward(cudaStream_t stream, const Rows& r, const KernelArgs& args) {
  auto* losses = static_cast<double*>(args.workspace);
  const auto* labels = args.in<std::int32_t>(1);
  with_row_threads(r.classes, [&]<int row_threads>(Width<row_threads>) {
    launch(row_losses<row_threads, T>, row_blocks(r.rows, row_threads), rows_block_threads, 0, stream, r,
           losses, args.in<T>(0), labels);
  });
  launch(mean_loss<L>, 1, element_threads, 0, stream, r.rows, args.out<L>(0), losses, labels);
}

template <class T, class L>
void loss_backward(cudaStream_t stream, const Rows& r, const KernelArgs& args) {
  auto* factor = static_cast<Acc<T>*>(args.workspace);
  const auto* labels = args.in<std::int32_t>(2);
  launch(gradient_factor<Acc<T>, L>, 1, element_threads, 0, stream, r.rows, factor, args.in<L>(0), labels);
  with_row_threads(r.classes, [&]<int row_threads>(Width<row_threads>) {
    launch(row_gradients<row_threads, T>, row_blocks(r.rows, row_threads), rows_block_threads, 0, stream, r,
           args.out<T>(0), args.in<T>(1), labels, factor);
  });
}

/// Calls f<T, L>(): all alike, or bf16 logits with an f32 loss.
template <class F>
std::unique_ptr<Kernel> visit_types(DType logits, DType loss, F f) {
  if (logits == DType::bf16 && loss == DType::f32) return f.template operator()<BFloat16, float>();
  return visit_elements(logits, [&]<class T>() { return f.template operator()<T, T>(); });
}

Rows rows_of(const TensorSpec& logits, double smoothing) {
  return {logits.shape[0], logits.shape[1], smoothing};
}

}  // namespace

void add_cross_entropy_kernels(KernelSet& set) {
  set.add("softmax_cross_entropy", [](const KernelRequest& request) {
    const TensorSpec& x = request.inputs[0];
    const Rows r = rows_of(x, request.as<SoftmaxCrossEntropyOp>().label_smoothing());
    return visit_types(x.dtype, request.outputs[0].dtype, [=]<class T, class L>() {
      return device_kernel(
          [=](cudaStream_t stream, const KernelArgs& args) { loss_forward<T, L>(stream, r, args); },
          r.rows * std::int64_t{sizeof(double)});
    });
  });
  set.add("softmax_cross_entropy_backward", [](const KernelRequest& request) {
    const TensorSpec& x = request.inputs[1];
    const Rows r = rows_of(x, request.as<SoftmaxCrossEntropyBackwardOp>().label_smoothing());
    return visit_types(x.dtype, request.inputs[0].dtype, [=]<class T, class L>() {
      return device_kernel(
          [=](cudaStream_t stream, const KernelArgs& args) { loss_backward<T, L>(stream, r, args); },
          sizeof(Acc<T>));
    });
  });
  set.add("label_count", [](const KernelRequest& request) {
    const std::int64_t rows = request.inputs[0].shape[0];
    return device_kernel([rows](cudaStream_t stream, const KernelArgs& args) {
      launch(count_labels, 1, element_threads, 0, stream, rows, args.out<std::int64_t>(0),
             args.in<std::int32_t>(0));
    });
  });
  set.add("correct_count", [](const KernelRequest& request) {
    const Rows r = rows_of(request.inputs[0], 0);
    return visit_elements(request.inputs[0].dtype, [=]<class T>() {
      return device_kernel(
          [=](cudaStream_t stream, const KernelArgs& args) {
            auto* flags = static_cast<std::int32_t*>(args.workspace);
            launch(compare_rows<T>, row_blocks(r.rows, warp_threads), rows_block_threads, 0, stream, r, flags,
                   args.in<T>(0), args.in<std::int32_t>(1));
            launch(add_flags, 1, element_threads, 0, stream, r.rows, args.out<std::int64_t>(0), flags);
          },
          r.rows * std::int64_t{sizeof(std::int32_t)});
    });
  });
}

}  // namespace swapadvisor::cuda
