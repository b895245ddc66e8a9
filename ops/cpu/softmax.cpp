// softmax_cross_entropy, its backward form, correct_count, label_count: one row at a time, sums in double
// over fixed lanes.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/functions.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <atomic>
#include <cmath>
#include <limits>

namespace swapadvisor {
namespace {

/// Largest element, Σ e^(x − largest), Σ x.
struct RowSums {
  double largest, exponentials, values;
};

template <class T>
SWAPADVISOR_INLINE RowSums row_sums_loop(const T* x, std::int64_t n) {
  constexpr std::int64_t lanes = reduction_lanes;
  T most[lanes];
  std::fill_n(most, lanes, -std::numeric_limits<T>::infinity());
  const std::int64_t whole = n / lanes * lanes;
  for (std::int64_t i = 0; i < whole; i += lanes) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t l = 0; l < lanes; ++l) most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
  }
  for (std::int64_t i = whole; i < n; ++i) most[i - whole] = std::max(most[i - whole], x[i]);
  T largest = most[0];
  for (T v : most) largest = std::max(largest, v);

  double exponentials[lanes] = {}, values[lanes] = {};
  for (std::int64_t i = 0; i < whole; i += lanes) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t l = 0; l < lanes; ++l) {
      exponentials[l] += exponential(x[i + l] - largest);
      values[l] += x[i + l];
    }
  }
  for (std::int64_t i = whole; i < n; ++i) {
    exponentials[i - whole] += exponential(x[i] - largest);
    values[i - whole] += x[i];
  }
  RowSums sums{largest, 0, 0};
  for (int l = 0; l < lanes; ++l) sums.exponentials += exponentials[l], sums.values += values[l];
  return sums;
}

/// y = (e^(x − largest)·inverse − floor)·factor.
template <class T>
SWAPADVISOR_INLINE void softmax_gradient_loop(const T* x, T largest, T inverse, T floor, T factor, T* y,
                                              std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = (exponential(x[i] - largest) * inverse - floor) * factor;
}

SWAPADVISOR_MULTIVERSION RowSums row_sums(const float* x, std::int64_t n) {
  return row_sums_loop(x, n);
}
RowSums row_sums(const double* x, std::int64_t n) {
  return row_sums_loop(x, n);
}

SWAPADVISOR_MULTIVERSION void softmax_gradient(const float* x, float largest, float inverse, float floor,
                                               float factor, float* y, std::int64_t n) {
  softmax_gradient_loop(x, largest, inverse, floor, factor, y, n);
}
void softmax_gradient(const double* x, double largest, double inverse, double floor, double factor, double* y,
                      std::int64_t n) {
  softmax_gradient_loop(x, largest, inverse, floor, factor, y, n);
}

struct Rows {
  std::int64_t rows, classes;
  double smoothing;
  std::int64_t grain() const { return std::max<std::int64_t>(1, elementwise_grain / 4 / classes); }
};

std::int64_t count_valid(const std::int32_t* labels, std::int64_t rows) {
  return rows - std::count(labels, labels + rows, ignored_label);
}

template <class T>
double row_loss(const T* x, std::int32_t label, const Rows& r) {
  if (label == ignored_label) return 0;
  if (label < 0 || label >= r.classes) return std::numeric_limits<double>::quiet_NaN();
  const RowSums sums = row_sums(x, r.classes);
  const double logarithm = sums.largest + std::log(sums.exponentials);
  return logarithm - (1 - r.smoothing) * x[label] -
         r.smoothing * sums.values / static_cast<double>(r.classes);
}

template <class T>
void loss_forward(const Rows& r, const KernelArgs& args) {
  const T* logits = args.in<T>(0);
  const auto* labels = args.in<std::int32_t>(1);
  auto* losses = static_cast<double*>(args.workspace);
  parallel_for(r.rows, r.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) losses[n] = row_loss(logits + n * r.classes, labels[n], r);
  });
  double sum = 0;
  for (std::int64_t n = 0; n < r.rows; ++n) sum += losses[n];
  const std::int64_t valid = count_valid(labels, r.rows);
  *args.out<T>(0) = static_cast<T>(valid == 0 ? 0 : sum / static_cast<double>(valid));
}

template <class T>
void row_gradient(const T* x, std::int32_t label, T factor, const Rows& r, T* y) {
  if (label == ignored_label || label < 0 || label >= r.classes) {
    std::fill_n(y, r.classes, label == ignored_label ? T(0) : std::numeric_limits<T>::quiet_NaN());
    return;
  }
  const RowSums sums = row_sums(x, r.classes);
  const auto largest = static_cast<T>(sums.largest), inverse = static_cast<T>(1 / sums.exponentials);
  const double floor = r.smoothing / static_cast<double>(r.classes);
  const T probability = exponential(x[label] - largest) * inverse;
  softmax_gradient(x, largest, inverse, static_cast<T>(floor), factor, y, r.classes);
  y[label] = (probability - static_cast<T>(1 - r.smoothing + floor)) * factor;
}

template <class T>
void loss_backward(const Rows& r, const KernelArgs& args) {
  const T* logits = args.in<T>(1);
  const auto* labels = args.in<std::int32_t>(2);
  T* dlogits = args.out<T>(0);
  const std::int64_t valid = count_valid(labels, r.rows);
  const T factor = *args.in<T>(0) / static_cast<T>(std::max<std::int64_t>(1, valid));
  parallel_for(r.rows, r.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      row_gradient(logits + n * r.classes, labels[n], factor, r, dlogits + n * r.classes);
  });
}

template <class T>
std::int64_t argmax(const T* x, std::int64_t n) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < n && !std::isnan(x[best]); ++i)
    if (x[i] > x[best] || std::isnan(x[i])) best = i;
  return best;
}

template <class T>
void count_correct(const Rows& r, const KernelArgs& args) {
  const T* logits = args.in<T>(0);
  const auto* labels = args.in<std::int32_t>(1);
  std::atomic<std::int64_t> correct = 0;
  parallel_for(r.rows, r.grain(), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t found = 0;
    for (std::int64_t n = begin; n < end; ++n)
      found += argmax(logits + n * r.classes, r.classes) == labels[n];
    correct += found;
  });
  *args.out<std::int64_t>(0) = correct;
}

}  // namespace

void add_softmax_kernels(KernelSet& set) {
  set.add("softmax_cross_entropy", [](const KernelRequest& request) {
    const TensorSpec& x = request.inputs[0];
    const Rows r{x.shape[0], x.shape[1], request.as<SoftmaxCrossEntropyOp>().label_smoothing()};
    return visit_floating(x.dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { loss_forward<T>(r, args); },
                         r.rows * std::int64_t{sizeof(double)});
    });
  });
  set.add("softmax_cross_entropy_backward", [](const KernelRequest& request) {
    const TensorSpec& x = request.inputs[1];
    const Rows r{x.shape[0], x.shape[1], request.as<SoftmaxCrossEntropyBackwardOp>().label_smoothing()};
    return visit_floating(x.dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { loss_backward<T>(r, args); });
    });
  });
  set.add("label_count", [](const KernelRequest& request) {
    return make_kernel([rows = request.inputs[0].shape[0]](const KernelArgs& args) {
      *args.out<std::int64_t>(0) = count_valid(args.in<std::int32_t>(0), rows);
    });
  });
  set.add("correct_count", [](const KernelRequest& request) {
    const TensorSpec& x = request.inputs[0];
    const Rows r{x.shape[0], x.shape[1], 0};
    return visit_floating(x.dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { count_correct<T>(r, args); });
    });
  });
}

}  // namespace swapadvisor
