// Functions of one number in device code.
#pragma once

#include <swapadvisor/core/cuda/kernel_language.h>

#include <cmath>

namespace swapadvisor::cuda {

/// 1/(1 + e^−x), without cancellation on either side.
template <class A>
__device__ inline A logistic(A x) {
  const A e = std::exp(x < A(0) ? x : -x);
  return (x < A(0) ? e : A(1)) / (A(1) + e);
}

template <class A>
__device__ inline A hyperbolic_tangent(A x) {
  return std::tanh(x);
}

/// Φ(x) of the standard normal distribution.
template <class A>
__device__ inline A normal_probability(A x) {
  return A(0.5) * std::erfc(-x * A(0.70710678118654752440));
}

/// φ(x) = Φ'(x).
template <class A>
__device__ inline A normal_density(A x) {
  return A(0.39894228040143267794) * std::exp(A(-0.5) * x * x);
}

}  // namespace swapadvisor::cuda
