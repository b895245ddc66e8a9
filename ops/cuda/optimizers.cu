// sgd, adam: the whole update in one pass. Learning rates, corrections and the finite flag are read from
// device memory. `T` is the type of parameters and states, `G` of gradients.
#include <swapadvisor/ops/adam.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/sgd.h>

#include <cmath>

namespace swapadvisor::cuda {
namespace {

/// `buffer`, `scale_of` may be null: no momentum, no scale of the gradient.
template <int width, class T, class G>
__global__ void __launch_bounds__(element_threads)
    sgd_step(SgdOptions options, std::int64_t n, T* parameter, T* buffer, const G* gradient,
             const double* rate_of, const std::int32_t* finite, const double* scale_of) {
  using A = Acc<T>;
  if (*finite == 0) return;
  const A rate = static_cast<A>(*rate_of), momentum = static_cast<A>(options.momentum);
  const A fresh = static_cast<A>(1 - options.dampening), decay = static_cast<A>(options.weight_decay);
  const A scale = scale_of == nullptr ? A(1) : static_cast<A>(*scale_of);
  for_each_pack<width>(n, [&]<int w>(Width<w>, std::int64_t i) {
    const Pack<G, w> gradients = load_pack<w>(gradient + i);
    Pack<T, w> p = load_pack<w>(parameter + i), m;
    if (buffer != nullptr) m = load_pack<w>(buffer + i);
    SWAPADVISOR_UNROLL
    for (int j = 0; j < w; ++j) {
      const A g = scale * static_cast<A>(widen(gradients.at[j])) + decay * widen(p.at[j]);
      A step = g;
      if (buffer != nullptr) {
        const A moved = momentum * widen(m.at[j]) + fresh * g;
        m.at[j] = static_cast<T>(moved);
        step = options.nesterov ? g + momentum * moved : moved;
      }
      p.at[j] = static_cast<T>(widen(p.at[j]) - rate * step);
    }
    if (buffer != nullptr) store_pack(buffer + i, m);
    store_pack(parameter + i, p);
  });
}

/// Computed in double, used in A, as PyTorch does.
template <class A>
struct AdamCoefficients {
  A scale, fresh1, beta2, fresh2, epsilon, step, deviation, added_decay, kept;
};

template <int width, class T, class G>
__global__ void __launch_bounds__(element_threads)
    adam_step(AdamOptions o, std::int64_t n, T* parameter, T* exp_avg, T* exp_avg_sq, const G* gradient,
              const double* rate_of, const double* correction1, const double* correction2,
              const std::int32_t* finite, const double* scale_of) {
  using A = Acc<T>;
  __shared__ AdamCoefficients<A> of_block;
  if (*finite == 0) return;
  if (threadIdx.x == 0) {
    const double rate = *rate_of;
    const bool decoupled = o.decay == AdamDecay::decoupled;
    of_block = {static_cast<A>(scale_of == nullptr ? 1.0 : *scale_of),
                static_cast<A>(1 - o.beta1),
                static_cast<A>(o.beta2),
                static_cast<A>(1 - o.beta2),
                static_cast<A>(o.epsilon),
                static_cast<A>(rate / *correction1),
                static_cast<A>(1 / std::sqrt(*correction2)),
                static_cast<A>(decoupled ? 0.0 : o.weight_decay),
                static_cast<A>(decoupled ? 1 - rate * o.weight_decay : 1.0)};
  }
  __syncthreads();
  const AdamCoefficients<A> k = of_block;
  for_each_pack<width>(n, [&]<int w>(Width<w>, std::int64_t i) {
    const Pack<G, w> gradients = load_pack<w>(gradient + i);
    Pack<T, w> p = load_pack<w>(parameter + i), m = load_pack<w>(exp_avg + i),
               v = load_pack<w>(exp_avg_sq + i);
    SWAPADVISOR_UNROLL
    for (int j = 0; j < w; ++j) {
      const A before = widen(p.at[j]);
      const A g = k.scale * static_cast<A>(widen(gradients.at[j])) + k.added_decay * before;
      const A first = widen(m.at[j]) + k.fresh1 * (g - widen(m.at[j]));
      const A second = k.beta2 * widen(v.at[j]) + k.fresh2 * g * g;
      m.at[j] = static_cast<T>(first);
      v.at[j] = static_cast<T>(second);
      p.at[j] =
          static_cast<T>(k.kept * before - k.step * first / (std::sqrt(second) * k.deviation + k.epsilon));
    }
    store_pack(exp_avg + i, m);
    store_pack(exp_avg_sq + i, v);
    store_pack(parameter + i, p);
  });
}

template <class T, class G>
std::unique_ptr<Kernel> sgd_kernel(const SgdOptions& options, std::int64_t n, int scale) {
  return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
    T *parameter = args.out<T>(0), *buffer = args.outputs.size() > 1 ? args.out<T>(1) : nullptr;
    const G* gradient = args.in<G>(1);
    const double* scale_of = options.scaled_gradient ? args.in<double>(scale) : nullptr;
    with_width(
        [&]<int width>(Width<width>) {
          launch(sgd_step<width, T, G>, element_blocks((n + width - 1) / width), element_threads, 0, stream,
                 options, n, parameter, buffer, gradient, args.in<double>(2), args.in<std::int32_t>(3),
                 scale_of);
        },
        static_cast<const T*>(parameter), static_cast<const T*>(buffer), gradient);
  });
}

template <class T, class G>
std::unique_ptr<Kernel> adam_kernel(const AdamOptions& options, std::int64_t n) {
  return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
    T *p = args.out<T>(0), *m = args.out<T>(1), *v = args.out<T>(2);
    const G* gradient = args.in<G>(1);
    const double* scale_of = options.scaled_gradient ? args.in<double>(8) : nullptr;
    with_width(
        [&]<int width>(Width<width>) {
          launch(adam_step<width, T, G>, element_blocks((n + width - 1) / width), element_threads, 0, stream,
                 options, n, p, m, v, gradient, args.in<double>(2), args.in<double>(3), args.in<double>(4),
                 args.in<std::int32_t>(5), scale_of);
        },
        static_cast<const T*>(p), static_cast<const T*>(m), static_cast<const T*>(v), gradient);
  });
}

}  // namespace

void add_optimizer_kernels(KernelSet& set) {
  set.add("sgd", [](const KernelRequest& request) {
    const SgdOptions& options = request.as<SgdOp>().options();
    const std::int64_t n = request.inputs[0].numel();
    const int scale = static_cast<int>(request.inputs.size()) - 1;  // the last input, if there is one
    return visit_update(request, [&]<class T, class G>() { return sgd_kernel<T, G>(options, n, scale); });
  });
  set.add("adam", [](const KernelRequest& request) {
    const AdamOptions& options = request.as<AdamOp>().options();
    const std::int64_t n = request.inputs[0].numel();
    return visit_update(request, [&]<class T, class G>() { return adam_kernel<T, G>(options, n); });
  });
}

}  // namespace swapadvisor::cuda
