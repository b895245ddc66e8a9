// Functions of one number, without branches, so that loops over them become vectors. The float forms use only
// operations that give the same bits in every version of a multiversioned loop; the double forms call the C
// library.
#pragma once

#include <swapadvisor/ops/cpu/vector.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace swapadvisor {

/// x = n·ln 2 + r with |r| ≤ ln 2 / 2, for |x| < 2^22·ln 2.
struct ExponentParts {
  float r;
  float power;  ///< 2^n, right for -126 ≤ n ≤ 127
};

SWAPADVISOR_INLINE ExponentParts exponent_parts(float x) {
  constexpr float round_to_integer = 0x1.8p23f;
  const float shifted = x * 0x1.715476p0f + round_to_integer;
  const float n = shifted - round_to_integer;
  const float r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  return {r, std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000U)};
}

/// (e^r − 1 − r)/r², the Taylor series to r^5 (of e^r: to r^7, remainder below 6e-9).
SWAPADVISOR_INLINE float exponential_tail(float r) {
  float series = (1.0f / 5040) * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  return series * r + 0.5f;
}

/// e^x for x ≤ 0, within 2 units in the last place. Results below the normal range become 0.
SWAPADVISOR_INLINE float exponential(float x) {
  const ExponentParts parts = exponent_parts(x);
  float series = exponential_tail(parts.r);
  series = series * parts.r + 1.0f;
  series = series * parts.r + 1.0f;
  return x < -87.0f ? 0.0f : series * parts.power;
}
SWAPADVISOR_INLINE double exponential(double x) {
  return std::exp(x);
}

/// 1/(1 + e^−x), without cancellation on either side.
template <class T>
SWAPADVISOR_INLINE T logistic(T x) {
  const T e = exponential(x < T(0) ? x : -x);
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

/// tanh x = m/(m + 2) with m = e^2|x| − 1, which keeps its digits near 0.
SWAPADVISOR_INLINE float hyperbolic_tangent(float x) {
  const float size = std::fabs(x);
  const ExponentParts parts = exponent_parts(size > 10.0f ? 20.0f : 2 * size);  // tanh 10 rounds to 1
  const float r = parts.r, grown = r + r * r * exponential_tail(r);
  const float m = grown * parts.power + (parts.power - 1.0f);
  return std::copysign(m / (m + 2.0f), x);
}
SWAPADVISOR_INLINE double hyperbolic_tangent(double x) {
  return std::tanh(x);
}

/// The standard normal distribution at one number.
template <class T>
struct Normal {
  T probability;  ///< Φ(x), of a smaller number
  T density;      ///< φ(x) = Φ'(x)
};

/// Φ within 6e-8 and, for negative x, within 1e-6 of its own size. Near 0 it is ½ + x·P(x²), else φ times a
/// polynomial in y = 1/(1 + |x|/√8), both polynomials fitted to the least largest error.
SWAPADVISOR_INLINE Normal<float> normal_distribution(float x) {
  const float size = std::fabs(x), square = x * x, e = exponential(-0.5f * square);
  float near = -7.65420828e-06f * square + 0.000113486371f;
  near = near * square - 0.00118632999f;
  near = near * square + 0.00997332297f;
  near = near * square - 0.0664903596f;
  near = near * square + 0.398942292f;
  const float y = 1.0f / (1.0f + 0.353553391f * size);
  float far = 0.0626744404f * y - 0.129742637f;
  far = far * y - 0.0444377214f;
  far = far * y + 0.151677415f;
  far = far * y + 0.140791669f;
  far = far * y + 0.256287426f;
  far = far * y + 0.280799121f;
  far = far * y + 0.282167405f;
  const float tail = 0.5f * y * far * e;
  const float beyond = x < 0 ? tail : 1.0f - tail;
  return {size < 1.0f ? 0.5f + x * near : beyond, 0.398942280f * e};
}
SWAPADVISOR_INLINE Normal<double> normal_distribution(double x) {
  return {0.5 * std::erfc(-x * 0.70710678118654752440), 0.39894228040143267794 * std::exp(-0.5 * x * x)};
}

}  // namespace swapadvisor
