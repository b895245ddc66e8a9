// sigmoid, tanh, gelu and their backward ops.
#include <swapadvisor/ops/cuda/functions.h>
#include <swapadvisor/ops/cuda/map.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/gelu.h>

namespace swapadvisor::cuda {
namespace {

struct Sigmoid {
  template <class A>
  __device__ A operator()(A x) const {
    return logistic(x);
  }
};
struct SigmoidBackward {
  template <class A>
  __device__ A operator()(A dy, A y) const {
    return dy * (y * (A(1) - y));
  }
};
struct Tanh {
  template <class A>
  __device__ A operator()(A x) const {
    return hyperbolic_tangent(x);
  }
};
struct TanhBackward {
  template <class A>
  __device__ A operator()(A dy, A y) const {
    return dy * (A(1) - y * y);
  }
};
struct ExactGelu {
  template <class A>
  __device__ A operator()(A x) const {
    return x * normal_probability(x);
  }
};
struct ExactGeluBackward {
  template <class A>
  __device__ A operator()(A dy, A x) const {
    return dy * (normal_probability(x) + x * normal_density(x));
  }
};

/// ½·(1 + tanh u) = logistic(2u), here with 2u = x·(a + b·x²).
constexpr double gelu_a = 1.5957691216057307118, gelu_b = 0.044715 * gelu_a;

struct TanhGelu {
  template <class A>
  __device__ A operator()(A x) const {
    return x * logistic(x * (A(gelu_a) + A(gelu_b) * x * x));
  }
};
struct TanhGeluBackward {
  template <class A>
  __device__ A operator()(A dy, A x) const {
    const A a = A(gelu_a), b = A(gelu_b), square = x * x, s = logistic(x * (a + b * square));
    return dy * (s + x * (s * (A(1) - s)) * (a + A(3) * b * square));
  }
};

}  // namespace

void add_activation_kernels(KernelSet& set) {
  set.add("sigmoid", [](const KernelRequest& r) { return unary_kernel(r, Sigmoid()); });
  set.add("sigmoid_backward", [](const KernelRequest& r) { return binary_kernel(r, SigmoidBackward()); });
  set.add("tanh", [](const KernelRequest& r) { return unary_kernel(r, Tanh()); });
  set.add("tanh_backward", [](const KernelRequest& r) { return binary_kernel(r, TanhBackward()); });
  set.add("gelu", [](const KernelRequest& r) {
    const bool exact = r.as<GeluOp>().form() == GeluForm::exact;
    return exact ? unary_kernel(r, ExactGelu()) : unary_kernel(r, TanhGelu());
  });
  set.add("gelu_backward", [](const KernelRequest& r) {
    const bool exact = r.as<GeluBackwardOp>().form() == GeluForm::exact;
    return exact ? binary_kernel(r, ExactGeluBackward()) : binary_kernel(r, TanhGeluBackward());
  });
}

}  // namespace swapadvisor::cuda
