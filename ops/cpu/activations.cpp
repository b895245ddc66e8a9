// sigmoid, tanh, gelu and their backward ops: one pass over memory.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/functions.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/gelu.h>

namespace swapadvisor {
namespace {

/// Fewest elements worth a thread: these functions cost some twenty times an addition.
constexpr std::int64_t function_grain = elementwise_grain / 8;

struct Sigmoid {
  template <class T>
  static SWAPADVISOR_INLINE T value(T x) {
    return logistic(x);
  }
};

struct SigmoidBackward {
  template <class T>
  static SWAPADVISOR_INLINE T value(T dy, T y) {
    return dy * (y * (T(1) - y));
  }
};

struct Tanh {
  template <class T>
  static SWAPADVISOR_INLINE T value(T x) {
    return hyperbolic_tangent(x);
  }
};

struct TanhBackward {
  template <class T>
  static SWAPADVISOR_INLINE T value(T dy, T y) {
    return dy * (T(1) - y * y);
  }
};

struct ExactGelu {
  template <class T>
  static SWAPADVISOR_INLINE T value(T x) {
    return x * normal_distribution(x).probability;
  }
};

struct ExactGeluBackward {
  template <class T>
  static SWAPADVISOR_INLINE T value(T dy, T x) {
    const Normal<T> normal = normal_distribution(x);
    return dy * (normal.probability + x * normal.density);
  }
};

/// ½·(1 + tanh u) = logistic(2u), here with 2u = x·(a + b·x²).
struct TanhGelu {
  static constexpr double a = 1.5957691216057307118, b = 0.044715 * a;

  template <class T>
  static SWAPADVISOR_INLINE T value(T x) {
    return x * logistic(x * (T(a) + T(b) * x * x));
  }
};

struct TanhGeluBackward {
  template <class T>
  static SWAPADVISOR_INLINE T value(T dy, T x) {
    constexpr T a = T(TanhGelu::a), b = T(TanhGelu::b);
    const T square = x * x, s = logistic(x * (a + b * square));
    return dy * (s + x * (s * (T(1) - s)) * (a + T(3) * b * square));
  }
};

template <class Function, class T>
SWAPADVISOR_MULTIVERSION void map_one(const T* x, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = Function::value(x[i]);
}

template <class Function, class T>
SWAPADVISOR_MULTIVERSION void map_two(const T* a, const T* b, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = Function::value(a[i], b[i]);
}

template <class Function>
std::unique_ptr<Kernel> forward(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  return visit_floating(request.outputs[0].dtype, [n]<class T>() {
    return make_kernel([n](const KernelArgs& args) {
      const T* x = args.in<T>(0);
      T* y = args.out<T>(0);
      parallel_for(n, function_grain,
                   [=](std::int64_t b, std::int64_t e) { map_one<Function>(x + b, y + b, e - b); });
    });
  });
}

template <class Function>
std::unique_ptr<Kernel> backward(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  return visit_floating(request.outputs[0].dtype, [n]<class T>() {
    return make_kernel([n](const KernelArgs& args) {
      const T *dy = args.in<T>(0), *other = args.in<T>(1);
      T* dx = args.out<T>(0);
      parallel_for(n, function_grain, [=](std::int64_t b, std::int64_t e) {
        map_two<Function>(dy + b, other + b, dx + b, e - b);
      });
    });
  });
}

}  // namespace

void add_activation_kernels(KernelSet& set) {
  set.add("sigmoid", forward<Sigmoid>);
  set.add("sigmoid_backward", backward<SigmoidBackward>);
  set.add("tanh", forward<Tanh>);
  set.add("tanh_backward", backward<TanhBackward>);
  set.add("gelu", [](const KernelRequest& request) {
    const bool exact = request.as<GeluOp>().form() == GeluForm::exact;
    return exact ? forward<ExactGelu>(request) : forward<TanhGelu>(request);
  });
  set.add("gelu_backward", [](const KernelRequest& request) {
    const bool exact = request.as<GeluBackwardOp>().form() == GeluForm::exact;
    return exact ? backward<ExactGeluBackward>(request) : backward<TanhGeluBackward>(request);
  });
}

}  // namespace swapadvisor
