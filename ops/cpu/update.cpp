// sgd, bn_running_update, finite_check: kernels that write persistent buffers in place.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/sgd.h>

namespace swapadvisor {
namespace {

template <class T>
struct SgdCoefficients {
  T learning_rate, momentum, fresh, weight_decay, scale;  // fresh = 1 − dampening; scale of the gradient
};

/// m = momentum·m + fresh·g; p −= lr·(nesterov ? g + momentum·m : m), with g the gradient plus weight decay.
template <bool nesterov, class T>
SWAPADVISOR_INLINE void momentum_loop(const SgdCoefficients<T>& k, const T* gradient, T* parameter, T* buffer,
                                      std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) {
    const T p = parameter[i], g = k.scale * gradient[i] + k.weight_decay * p;
    const T m = k.momentum * buffer[i] + k.fresh * g;
    buffer[i] = m;
    parameter[i] = p - k.learning_rate * (nesterov ? g + k.momentum * m : m);
  }
}

template <class T>
SWAPADVISOR_INLINE void plain_loop(const SgdCoefficients<T>& k, const T* gradient, T* parameter,
                                   std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) {
    const T p = parameter[i], g = k.scale * gradient[i] + k.weight_decay * p;
    parameter[i] = p - k.learning_rate * g;
  }
}

template <class T>
SWAPADVISOR_INLINE void sgd_loop(const SgdCoefficients<T>& k, bool nesterov, const T* g, T* p, T* m,
                                 std::int64_t n) {
  if (m == nullptr)
    plain_loop(k, g, p, n);
  else if (nesterov)
    momentum_loop<true>(k, g, p, m, n);
  else
    momentum_loop<false>(k, g, p, m, n);
}

SWAPADVISOR_MULTIVERSION void sgd_chunk(const SgdCoefficients<float>& k, bool nesterov, const float* g,
                                        float* p, float* m, std::int64_t n) {
  sgd_loop(k, nesterov, g, p, m, n);
}
void sgd_chunk(const SgdCoefficients<double>& k, bool nesterov, const double* g, double* p, double* m,
               std::int64_t n) {
  sgd_loop(k, nesterov, g, p, m, n);
}

std::unique_ptr<Kernel> make_sgd(const KernelRequest& request) {
  const SgdOptions options = request.as<SgdOp>().options();
  const std::int64_t n = request.inputs[0].numel();
  const int scale = static_cast<int>(request.inputs.size()) - 1;  // the last input, if there is one
  return visit_floating(request.inputs[0].dtype, [=]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      if (*args.in<std::int32_t>(3) == 0) return;
      const SgdCoefficients<T> k{static_cast<T>(*args.in<double>(2)), static_cast<T>(options.momentum),
                                 static_cast<T>(1 - options.dampening), static_cast<T>(options.weight_decay),
                                 options.scaled_gradient ? static_cast<T>(*args.in<double>(scale)) : T(1)};
      const T* gradient = args.in<T>(1);
      T *parameter = args.out<T>(0), *buffer = args.outputs.size() > 1 ? args.out<T>(1) : nullptr;
      parallel_for(n, elementwise_grain, [&](std::int64_t b, std::int64_t e) {
        sgd_chunk(k, options.nesterov, gradient + b, parameter + b, buffer ? buffer + b : nullptr, e - b);
      });
    });
  });
}

template <class T>
void update_running(const BnRunningUpdateOp& op, std::int64_t channels, const KernelArgs& args) {
  if (*args.in<std::int32_t>(5) == 0) return;
  const T *mean = args.in<T>(0), *inverse = args.in<T>(1);
  T *running_mean = args.out<T>(0), *running_variance = args.out<T>(1);
  const double keep = 1 - op.momentum(), count = static_cast<double>(op.count());
  for (std::int64_t c = 0; c < channels; ++c) {
    const double deviation = inverse[c];
    const double variance = std::max(0.0, 1 / (deviation * deviation) - op.epsilon()) * count / (count - 1);
    running_mean[c] = static_cast<T>(keep * running_mean[c] + op.momentum() * mean[c]);
    running_variance[c] = static_cast<T>(keep * running_variance[c] + op.momentum() * variance);
  }
  ++*args.out<std::int64_t>(2);
}

template <class T>
void check_finite(std::int64_t n, const KernelArgs& args) {
  const T* x = args.in<T>(0);
  std::int32_t finite = 1;
  for (std::int64_t i = 0; i < n; ++i) finite &= x[i] - x[i] == T(0);  // ∞ − ∞ is NaN
  if (!finite) *args.out<std::int32_t>(0) = 0;
}

}  // namespace

void add_update_kernels(KernelSet& set) {
  set.add("sgd", make_sgd);
  set.add("bn_running_update", [](const KernelRequest& request) {
    const BnRunningUpdateOp op = request.as<BnRunningUpdateOp>();
    const std::int64_t channels = request.inputs[0].numel();
    return visit_floating(request.inputs[0].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { update_running<T>(op, channels, args); });
    });
  });
  set.add("finite_check", [](const KernelRequest& request) {
    const std::int64_t n = request.inputs[0].numel();
    return visit_floating(request.inputs[0].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { check_finite<T>(n, args); });
    });
  });
}

}  // namespace swapadvisor
