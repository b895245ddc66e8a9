// layer_norm and layer_norm_backward: one row at a time while it is in the cache, sums in double over fixed
// lanes.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/cpu/workspace.h>
#include <swapadvisor/ops/layer_norm.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor {
namespace {

struct RowStatistics {
  double mean, inverse_deviation;
};

/// Σ term(i) for i in [0, n).
template <class Term>
SWAPADVISOR_INLINE double sum_over(std::int64_t n, Term term) {
  constexpr std::int64_t lanes = reduction_lanes;
  double sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t l = 0; l < lanes; ++l) sums[l] += term(i + l);
  }
  for (std::int64_t l = 0; i < n; ++i, ++l) sums[l] += term(i);
  double sum = 0;
  for (double lane : sums) sum += lane;
  return sum;
}

template <class T>
SWAPADVISOR_MULTIVERSION RowStatistics statistics_of_row(const T* x, std::int64_t n, double epsilon) {
  const double mean = sum_over(n, [=](std::int64_t i) { return static_cast<double>(x[i]); }) / n;
  const double squares = sum_over(n, [=](std::int64_t i) {
    const double d = x[i] - mean;
    return d * d;
  });
  return {mean, 1 / std::sqrt(squares / n + epsilon)};
}

template <class T>
SWAPADVISOR_MULTIVERSION void normalise_row(const T* x, T mean, T inverse, const T* weight, const T* bias,
                                            T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
}

/// dx of one row, its terms of the sums for the weight's and the bias's gradients. With g = dy·weight and
/// h = (x − mean)·inverse: dx = (g − mean of g − h·mean of g·h)·inverse.
template <class T>
SWAPADVISOR_MULTIVERSION void backward_row(const T* dy, const T* x, T mean, T inverse, const T* weight, T* dx,
                                           double* dweight, double* dbias, std::int64_t n) {
  const double sum_g = sum_over(n, [=](std::int64_t i) { return static_cast<double>(dy[i] * weight[i]); });
  const double sum_gh = sum_over(
      n, [=](std::int64_t i) { return static_cast<double>(dy[i] * weight[i] * ((x[i] - mean) * inverse)); });
  const T mean_g = static_cast<T>(sum_g / n), mean_gh = static_cast<T>(sum_gh / n);
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) {
    const T slope = dy[i], h = (x[i] - mean) * inverse;
    dweight[i] += slope * h;
    dbias[i] += slope;
    dx[i] = (slope * weight[i] - mean_g - h * mean_gh) * inverse;
  }
}

struct Sizes {
  explicit Sizes(const TensorSpec& x)
      : features(x.shape[x.rank() - 1]),
        rows(x.numel() / features),
        parts(std::clamp<std::int64_t>(rows / 16, 1, 32)) {}
  std::int64_t grain() const { return std::max<std::int64_t>(1, elementwise_grain / 4 / features); }

  std::int64_t features, rows;
  std::int64_t parts;  ///< partial sums over rows: fixed by the shape, so that sums do not depend on threads
};

/// Small operands are copied, and small results written last, since y or dx may take the memory of any
/// operand of equal bytes: of x, but of a weight or a statistic too where there is one row or one feature.
template <class T>
class Workspace {
 public:
  Workspace(const Sizes& s, bool backward) {
    weight_ = layout_.add(s.features * size_of(dtype_of<T>));
    bias_ = layout_.add(backward ? 0 : s.features * size_of(dtype_of<T>));
    mean_ = layout_.add(s.rows * size_of(dtype_of<T>));
    inverse_ = layout_.add(s.rows * size_of(dtype_of<T>));
    sums_ = layout_.add(backward ? 2 * s.parts * s.features * size_of(DType::f64) : 0);
  }
  std::int64_t bytes() const { return layout_.bytes(); }
  T* weight(void* at) const { return workspace_at<T>(at, weight_); }
  T* bias(void* at) const { return workspace_at<T>(at, bias_); }
  T* mean(void* at) const { return workspace_at<T>(at, mean_); }
  T* inverse(void* at) const { return workspace_at<T>(at, inverse_); }
  double* sums(void* at) const { return workspace_at<double>(at, sums_); }

 private:
  WorkspaceLayout layout_;
  std::int64_t weight_, bias_, mean_, inverse_, sums_;
};

template <class T>
void forward(const Sizes& s, double epsilon, const Workspace<T>& w, const KernelArgs& args) {
  const T* x = args.in<T>(0);
  T *y = args.out<T>(0), *weight = w.weight(args.workspace), *bias = w.bias(args.workspace);
  T *mean = w.mean(args.workspace), *inverse = w.inverse(args.workspace);
  std::copy_n(args.in<T>(1), s.features, weight);
  std::copy_n(args.in<T>(2), s.features, bias);
  parallel_for(s.rows, s.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = x + r * s.features;
      const RowStatistics found = statistics_of_row(row, s.features, epsilon);
      mean[r] = static_cast<T>(found.mean);
      inverse[r] = static_cast<T>(found.inverse_deviation);
      normalise_row(row, mean[r], inverse[r], weight, bias, y + r * s.features, s.features);
    }
  });
  std::copy_n(mean, s.rows, args.out<T>(1));
  std::copy_n(inverse, s.rows, args.out<T>(2));
}

template <class T>
void backward(const Sizes& s, const Workspace<T>& w, const KernelArgs& args) {
  const T *dy = args.in<T>(0), *x = args.in<T>(1);
  T *dx = args.out<T>(0), *weight = w.weight(args.workspace);
  T *mean = w.mean(args.workspace), *inverse = w.inverse(args.workspace);
  double* sums = w.sums(args.workspace);
  std::copy_n(args.in<T>(2), s.features, weight);
  std::copy_n(args.in<T>(3), s.rows, mean);
  std::copy_n(args.in<T>(4), s.rows, inverse);
  parallel_for(s.parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      double *dweight = sums + 2 * part * s.features, *dbias = dweight + s.features;
      std::fill_n(dweight, 2 * s.features, 0.0);
      for (std::int64_t r = s.rows * part / s.parts; r < s.rows * (part + 1) / s.parts; ++r)
        backward_row(dy + r * s.features, x + r * s.features, mean[r], inverse[r], weight,
                     dx + r * s.features, dweight, dbias, s.features);
    }
  });
  for (std::int64_t part = 1; part < s.parts; ++part)
    for (std::int64_t i = 0; i < 2 * s.features; ++i) sums[i] += sums[2 * part * s.features + i];
  for (std::int64_t i = 0; i < s.features; ++i) {
    args.out<T>(1)[i] = static_cast<T>(sums[i]);
    args.out<T>(2)[i] = static_cast<T>(sums[s.features + i]);
  }
}

}  // namespace

void add_layer_norm_kernels(KernelSet& set) {
  set.add("layer_norm", [](const KernelRequest& request) {
    const Sizes s(request.inputs[0]);
    const double epsilon = request.as<LayerNormOp>().epsilon();
    return visit_floating(request.inputs[0].dtype, [=]<class T>() {
      const Workspace<T> w(s, false);
      return make_kernel([=](const KernelArgs& args) { forward<T>(s, epsilon, w, args); }, w.bytes());
    });
  });
  set.add("layer_norm_backward", [](const KernelRequest& request) {
    const Sizes s(request.inputs[1]);
    return visit_floating(request.inputs[1].dtype, [=]<class T>() {
      const Workspace<T> w(s, true);
      return make_kernel([=](const KernelArgs& args) { backward<T>(s, w, args); }, w.bytes());
    });
  });
}

}  // namespace swapadvisor
