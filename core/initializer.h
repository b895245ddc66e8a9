// How a parameter or state gets its first value.
#pragma once

#include <swapadvisor/core/shape.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace swapadvisor {

/// A rule for the first value of a parameter or state.
struct Initializer {
  /// The distribution.
  enum class Kind : std::uint8_t { constant, uniform, normal };
  Kind kind = Kind::constant;
  double a = 0;  ///< the constant, the lower end, or the mean
  double b = 0;  ///< the upper end, or the standard deviation
  std::int64_t leading_zeros = 0;  ///< so many elements at the start are 0, such as a padding token's embedding

  static Initializer zeros() { return {}; }
  static Initializer constant(double value) { return {Kind::constant, value, 0}; }
  static Initializer uniform(double low, double high) { return {Kind::uniform, low, high}; }
  static Initializer normal(double mean, double deviation) { return {Kind::normal, mean, deviation}; }
  /// He et al. 2015, fan-out mode, ReLU gain: what torchvision gives convolutions. `shape` is OIHW or [out, in].
  static Initializer kaiming_normal_fan_out(const Shape& shape);
  /// U(−1/√fan_in, 1/√fan_in): PyTorch's default for linear layers. `shape` is OIHW or [out, in].
  static Initializer uniform_fan_in(const Shape& shape);

  /// The same with zeros at the start.
  Initializer with_leading_zeros(std::int64_t count) const {
    Initializer other = *this;
    other.leading_zeros = count;
    return other;
  }
};

/// Fills `data` (dense elements of `spec`, in row-major order) from Philox keyed by (seed, name): the values do not
/// depend on the order in which parameters are created.
void initialize(std::span<std::byte> data, const TensorSpec& spec, const Initializer& how, std::string_view name,
                std::uint64_t seed);

}  // namespace swapadvisor
