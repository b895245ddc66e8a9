// softmax and softmax_backward: one row at a time, sums in double over fixed lanes. Keys that a causal row
// does not see are neither read nor computed.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/functions.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/softmax.h>

#include <algorithm>
#include <limits>

namespace swapadvisor {
namespace {

constexpr std::int64_t lanes = reduction_lanes;

template <class T>
SWAPADVISOR_INLINE T sum_of_lanes(T* values) {
  for (std::int64_t width = lanes / 2; width > 0; width /= 2)
    for (std::int64_t l = 0; l < width; ++l) values[l] += values[l + width];
  return values[0];
}

/// y = softmax of value(i) for i in [0, n). In place, since value(i) is read before y[i] is written.
template <class T, class Value>
SWAPADVISOR_INLINE void softmax_loop(Value value, T* y, std::int64_t n) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  const std::int64_t whole = n / lanes * lanes;
  T most[lanes];
  std::fill_n(most, lanes, lowest);
  for (std::int64_t i = 0; i < whole; i += lanes) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t l = 0; l < lanes; ++l) {
      const T v = value(i + l);
      most[l] = v > most[l] ? v : most[l];
    }
  }
  for (std::int64_t i = whole; i < n; ++i) {
    const T v = value(i);
    most[i - whole] = v > most[i - whole] ? v : most[i - whole];
  }
  T largest = lowest;
  for (T v : most) largest = v > largest ? v : largest;
  // No key is seen, or all are NaN: the exponentials below are 0 or NaN.
  if (largest == lowest) largest = 0;

  double sums[lanes] = {};
  for (std::int64_t i = 0; i < whole; i += lanes) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t l = 0; l < lanes; ++l) {
      const T e = exponential(value(i + l) - largest);
      sums[l] += e;
      y[i + l] = e;
    }
  }
  for (std::int64_t i = whole; i < n; ++i) {
    const T e = exponential(value(i) - largest);
    sums[i - whole] += e;
    y[i] = e;
  }
  const double sum = sum_of_lanes(sums);
  const T inverse = sum == 0 ? T(0) : static_cast<T>(1 / sum);
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] *= inverse;
}

template <class T>
SWAPADVISOR_MULTIVERSION void softmax_row(const T* x, T scale, T* y, std::int64_t n) {
  softmax_loop([=](std::int64_t i) { return x[i] * scale; }, y, n);
}

template <class T>
SWAPADVISOR_MULTIVERSION void softmax_masked_row(const T* x, T scale, const std::int32_t* mask, T* y,
                                                 std::int64_t n) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  softmax_loop([=](std::int64_t i) { return mask[i] != 0 ? x[i] * scale : lowest; }, y, n);
}

/// dx = scale·y·(dy − Σ dy·y).
template <class T>
SWAPADVISOR_MULTIVERSION void softmax_backward_row(const T* dy, const T* y, T scale, T* dx, std::int64_t n) {
  double sums[lanes] = {};
  const std::int64_t whole = n / lanes * lanes;
  for (std::int64_t i = 0; i < whole; i += lanes) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t l = 0; l < lanes; ++l) sums[l] += dy[i + l] * y[i + l];
  }
  for (std::int64_t i = whole; i < n; ++i) sums[i - whole] += dy[i] * y[i];
  const T sum = static_cast<T>(sum_of_lanes(sums));
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) dx[i] = (dy[i] - sum) * y[i] * scale;
}

struct Rows {
  Rows(const TensorSpec& scores, const SoftmaxOptions& options)
      : keys(scores.shape[scores.rank() - 1]),
        rows(scores.numel() / keys),
        queries(scores.rank() > 1 ? scores.shape[scores.rank() - 2] : 1),
        per_sample(scores.rank() > 1 ? rows / scores.shape[0] : 1),
        scale(options.scale),
        causal(options.causal) {}
  std::int64_t grain() const { return std::max<std::int64_t>(1, elementwise_grain / 4 / keys); }
  std::int64_t seen(std::int64_t row) const { return causal ? row % queries + keys - queries + 1 : keys; }

  std::int64_t keys, rows, queries, per_sample;
  double scale;
  bool causal;
};

template <class T>
void forward(const Rows& r, bool masked, const KernelArgs& args) {
  const T* x = args.in<T>(0);
  const std::int32_t* mask = masked ? args.in<std::int32_t>(1) : nullptr;
  T* y = args.out<T>(0);
  const T scale = static_cast<T>(r.scale);
  parallel_for(r.rows, r.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * r.keys, n = r.seen(row);
      if (mask)
        softmax_masked_row(x + at, scale, mask + row / r.per_sample * r.keys, y + at, n);
      else
        softmax_row(x + at, scale, y + at, n);
      std::fill(y + at + n, y + at + r.keys, T(0));
    }
  });
}

template <class T>
void backward(const Rows& r, const KernelArgs& args) {
  const T *dy = args.in<T>(0), *y = args.in<T>(1);
  T* dx = args.out<T>(0);
  const T scale = static_cast<T>(r.scale);
  parallel_for(r.rows, r.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * r.keys, n = r.seen(row);
      softmax_backward_row(dy + at, y + at, scale, dx + at, n);
      std::fill(dx + at + n, dx + at + r.keys, T(0));
    }
  });
}

}  // namespace

void add_attention_softmax_kernels(KernelSet& set) {
  set.add("softmax", [](const KernelRequest& request) {
    const Rows r(request.inputs[0], request.as<SoftmaxOp>().options());
    const bool masked = request.inputs.size() > 1;
    return visit_floating(request.inputs[0].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { forward<T>(r, masked, args); });
    });
  });
  set.add("softmax_backward", [](const KernelRequest& request) {
    const Rows r(request.inputs[1], request.as<SoftmaxBackwardOp>().options());
    return visit_floating(request.inputs[1].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { backward<T>(r, args); });
    });
  });
}

}  // namespace swapadvisor
