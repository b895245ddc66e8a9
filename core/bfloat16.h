// bfloat16: the upper half of a float32. Same range, eight bits of precision.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace swapadvisor {

/// Storage only: arithmetic is done in float. Narrowing rounds to nearest, ties to even; NaNs stay quiet
/// NaNs.
class BFloat16 {
 public:
  constexpr BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits_(narrow(std::bit_cast<std::uint32_t>(value))) {}
  template <class T>
  requires(!std::is_same_v<T, float> && std::is_arithmetic_v<T>) constexpr explicit BFloat16(T value)
      : BFloat16(static_cast<float>(value)) {}
  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16); }

  static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 value;
    value.bits_ = bits;
    return value;
  }
  constexpr std::uint16_t bits() const { return bits_; }

 private:
  static constexpr std::uint16_t narrow(std::uint32_t bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }

  std::uint16_t bits_ = 0;
};

static_assert(sizeof(BFloat16) == 2);

}  // namespace swapadvisor
