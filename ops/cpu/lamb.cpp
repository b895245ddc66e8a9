// lamb: moments and norms block by block, then the step with the trust ratio.
#include <swapadvisor/ops/cpu/reduce.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/lamb.h>

#include <cmath>

namespace swapadvisor {
namespace {

/// Computed in double, used in T.
template <class T>
struct LambCoefficients {
  LambCoefficients(const LambOptions& o, double correction1, double correction2, double gradient_scale)
      : scale(static_cast<T>(gradient_scale)),
        fresh1(static_cast<T>(1 - o.beta1)),
        beta2(static_cast<T>(o.beta2)),
        fresh2(static_cast<T>(1 - o.beta2)),
        epsilon(static_cast<T>(o.epsilon)),
        mean(static_cast<T>(1 / correction1)),
        deviation(static_cast<T>(1 / std::sqrt(correction2))),
        decay(static_cast<T>(o.weight_decay)) {}

  T scale, fresh1, beta2, fresh2, epsilon, mean, deviation, decay;
};

/// u, from the new moments. The second pass computes it again rather than keep it.
template <class T>
SWAPADVISOR_INLINE T direction(const LambCoefficients<T>& k, T p, T m, T v) {
  return k.mean * m / (std::sqrt(v) * k.deviation + k.epsilon) + k.decay * p;
}

/// Squares of parameter and direction, added up.
struct Squares {
  double parameter = 0, direction = 0;
};

template <class T>
SWAPADVISOR_INLINE void moments_step(const LambCoefficients<T>& k, const T* gradient, const T* parameter,
                                     T* exp_avg, T* exp_avg_sq, std::int64_t i, double& p2, double& u2) {
  const T p = parameter[i], g = k.scale * gradient[i];
  const T m = exp_avg[i] + k.fresh1 * (g - exp_avg[i]);
  const T v = k.beta2 * exp_avg_sq[i] + k.fresh2 * g * g;
  exp_avg[i] = m;
  exp_avg_sq[i] = v;
  const double wide_p = p, wide_u = direction(k, p, m, v);
  p2 += wide_p * wide_p;
  u2 += wide_u * wide_u;
}

template <class T>
SWAPADVISOR_INLINE Squares moments_loop(const LambCoefficients<T>& k, const T* g, const T* p, T* m, T* v,
                                        std::int64_t n) {
  constexpr std::int64_t lanes = reduction_lanes;
  double p2[lanes] = {}, u2[lanes] = {};
  const std::int64_t whole = n / lanes * lanes;
  for (std::int64_t i = 0; i < whole; i += lanes) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t l = 0; l < lanes; ++l) moments_step(k, g, p, m, v, i + l, p2[l], u2[l]);
  }
  for (std::int64_t i = whole; i < n; ++i) moments_step(k, g, p, m, v, i, p2[i - whole], u2[i - whole]);
  Squares sums;
  for (int l = 0; l < lanes; ++l) sums.parameter += p2[l], sums.direction += u2[l];
  return sums;
}

template <class T>
SWAPADVISOR_INLINE void step_loop(const LambCoefficients<T>& k, T step, T* p, const T* m, const T* v,
                                  std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) p[i] -= step * direction(k, p[i], m[i], v[i]);
}

SWAPADVISOR_MULTIVERSION Squares moments_block(const LambCoefficients<float>& k, const float* g,
                                               const float* p, float* m, float* v, std::int64_t n) {
  return moments_loop(k, g, p, m, v, n);
}
Squares moments_block(const LambCoefficients<double>& k, const double* g, const double* p, double* m,
                      double* v, std::int64_t n) {
  return moments_loop(k, g, p, m, v, n);
}

SWAPADVISOR_MULTIVERSION void step_chunk(const LambCoefficients<float>& k, float step, float* p,
                                         const float* m, const float* v, std::int64_t n) {
  step_loop(k, step, p, m, v, n);
}
void step_chunk(const LambCoefficients<double>& k, double step, double* p, const double* m, const double* v,
                std::int64_t n) {
  step_loop(k, step, p, m, v, n);
}

template <class T>
void run_lamb(const LambOptions& options, std::int64_t n, const KernelArgs& args) {
  if (*args.in<std::int32_t>(5) == 0) return;
  const LambCoefficients<T> k(options, *args.in<double>(3), *args.in<double>(4),
                              options.scaled_gradient ? *args.in<double>(8) : 1.0);
  const T* g = args.in<T>(1);
  T *p = args.out<T>(0), *m = args.out<T>(1), *v = args.out<T>(2);
  auto* sums = static_cast<Squares*>(args.workspace);
  for_each_block(n, [&](std::int64_t block, std::int64_t b, std::int64_t e) {
    sums[block] = moments_block(k, g + b, p + b, m + b, v + b, e - b);
  });
  Squares total;
  for (std::int64_t block = 0; block < reduction_blocks(n); ++block) {
    total.parameter += sums[block].parameter;
    total.direction += sums[block].direction;
  }
  const double ratio = total.parameter > 0 && total.direction > 0
                           ? std::sqrt(total.parameter) / std::sqrt(total.direction)
                           : 1.0;
  const T step = static_cast<T>(*args.in<double>(2) * ratio);
  parallel_for(n, elementwise_grain,
               [&](std::int64_t b, std::int64_t e) { step_chunk(k, step, p + b, m + b, v + b, e - b); });
}

}  // namespace

void add_lamb_kernels(KernelSet& set) {
  set.add("lamb", [](const KernelRequest& request) {
    const LambOptions options = request.as<LambOp>().options();
    const std::int64_t n = request.inputs[0].numel();
    return visit_floating(request.inputs[0].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { run_lamb<T>(options, n, args); },
                         reduction_blocks(n) * static_cast<std::int64_t>(sizeof(Squares)));
    });
  });
}

}  // namespace swapadvisor
