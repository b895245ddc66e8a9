// adam: the update of Adam and AdamW.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/adam.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>

#include <cmath>

namespace swapadvisor {
namespace {

/// Computed in double, used in T, as PyTorch does.
template <class T>
struct AdamCoefficients {
  AdamCoefficients(const AdamOptions& o, double rate, double correction1, double correction2,
                   double gradient_scale)
      : scale(static_cast<T>(gradient_scale)),
        fresh1(static_cast<T>(1 - o.beta1)),
        beta2(static_cast<T>(o.beta2)),
        fresh2(static_cast<T>(1 - o.beta2)),
        epsilon(static_cast<T>(o.epsilon)),
        step(static_cast<T>(rate / correction1)),
        deviation(static_cast<T>(1 / std::sqrt(correction2))),
        added_decay(static_cast<T>(o.decay == AdamDecay::gradient ? o.weight_decay : 0)),
        kept(static_cast<T>(o.decay == AdamDecay::decoupled ? 1 - rate * o.weight_decay : 1)) {}

  T scale;  ///< of the gradient
  T fresh1, beta2, fresh2, epsilon;
  T step, deviation;    ///< lr / correction1, 1 / √correction2
  T added_decay, kept;  ///< one of the two decays is idle: 0 or 1
};

template <class T>
SWAPADVISOR_INLINE void adam_loop(const AdamCoefficients<T>& k, const T* gradient, T* parameter, T* exp_avg,
                                  T* exp_avg_sq, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) {
    const T p = parameter[i], g = k.scale * gradient[i] + k.added_decay * p;
    const T m = exp_avg[i] + k.fresh1 * (g - exp_avg[i]);
    const T v = k.beta2 * exp_avg_sq[i] + k.fresh2 * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    parameter[i] = k.kept * p - k.step * m / (std::sqrt(v) * k.deviation + k.epsilon);
  }
}

SWAPADVISOR_MULTIVERSION void adam_chunk(const AdamCoefficients<float>& k, const float* g, float* p, float* m,
                                         float* v, std::int64_t n) {
  adam_loop(k, g, p, m, v, n);
}
void adam_chunk(const AdamCoefficients<double>& k, const double* g, double* p, double* m, double* v,
                std::int64_t n) {
  adam_loop(k, g, p, m, v, n);
}

}  // namespace

void add_adam_kernels(KernelSet& set) {
  set.add("adam", [](const KernelRequest& request) {
    const AdamOptions options = request.as<AdamOp>().options();
    const std::int64_t n = request.inputs[0].numel();
    return visit_floating(request.inputs[0].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) {
        if (*args.in<std::int32_t>(5) == 0) return;
        const AdamCoefficients<T> k(options, *args.in<double>(2), *args.in<double>(3), *args.in<double>(4),
                                    options.scaled_gradient ? *args.in<double>(8) : 1.0);
        const T* g = args.in<T>(1);
        T *p = args.out<T>(0), *m = args.out<T>(1), *v = args.out<T>(2);
        parallel_for(n, elementwise_grain, [&](std::int64_t b, std::int64_t e) {
          adam_chunk(k, g + b, p + b, m + b, v + b, e - b);
        });
      });
    });
  });
}

}  // namespace swapadvisor
