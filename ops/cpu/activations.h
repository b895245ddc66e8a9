// e^x, the logistic function and tanh as branch-free float functions that loops inline and vectorise; in
// double, those of the standard library.
#pragma once

#include <swapadvisor/ops/cpu/vector.h>

#include <bit>
#include <cmath>

namespace swapadvisor {

/// e^x for x ≤ 0, within 2 units in the last place: x = n·ln 2 + r, e^x = 2^n·e^r, Taylor series to r^7 (|r|
/// ≤ ln 2 / 2, remainder below 6e-9). Results below the normal range become 0. NaN stays NaN.
SWAPADVISOR_INLINE float exp_nonpositive(float x) {
  constexpr float round_to_integer = 0x1.8p23f;
  const float shifted = x * 0x1.715476p0f + round_to_integer;
  const float n = shifted - round_to_integer;
  const float r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  float series = (1.0f / 5040) * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  const float power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000U);
  return x < -87.0f ? 0.0f : series * power;
}
SWAPADVISOR_INLINE double exp_nonpositive(double x) {
  return std::exp(x);
}

/// 1/(1 + e^−x), within 4 units in the last place down to results of e^−87; smaller ones are 0.
template <class T>
SWAPADVISOR_INLINE T logistic(T x) {
  // Of e^−|x|, so that nothing overflows and small results keep their digits.
  const T e = exp_nonpositive(-std::abs(x));
  const T inverse = T(1) / (T(1) + e);
  return x < T(0) ? e * inverse : inverse;
}

/// tanh x within 3 units in the last place: near 0 an odd polynomial (least squares for the smallest largest
/// relative error, 5e-9), else (1 − e^−2|x|)/(1 + e^−2|x|) with the sign of x.
SWAPADVISOR_INLINE float hyperbolic_tangent(float x) {
  const float size = std::abs(x), square = x * x;
  float series = -0.00570499f * square + 0.02063909f;
  series = series * square - 0.05373971f;
  series = series * square + 0.13331442f;
  series = series * square - 0.33333282f;
  const float near = x + x * square * series;
  const float e = exp_nonpositive(-2.0f * size);
  const float far = std::copysign((1.0f - e) / (1.0f + e), x);
  return size < 0.625f ? near : far;
}
SWAPADVISOR_INLINE double hyperbolic_tangent(double x) {
  return std::tanh(x);
}

}  // namespace swapadvisor
