// What the host gives a graph for one iteration.
#pragma once

#include <swapadvisor/core/dtype.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>

namespace swapadvisor {

/// The value of one input: the elements of a vector, array or span, in row-major order, which must stay until
/// the iteration is submitted; or one number, which is copied. float, double, std::uint8_t, std::int32_t and
/// std::int64_t must match the input's type; std::byte stands for any.
class InputValue {
 public:
  /// No bytes: no input takes that.
  InputValue() = default;

  /// Refers to the elements of `range`.
  template <std::ranges::contiguous_range Range>
  requires std::ranges::sized_range<Range> &&
      (!std::same_as<std::remove_cvref_t<Range>, InputValue>)InputValue(const Range& range)
      : elements_(std::as_bytes(std::span(std::ranges::data(range), std::ranges::size(range)))),
        dtype_(element_type<std::ranges::range_value_t<Range>>()) {}

  /// One number, such as a learning rate (f64) or a step number (i64).
  template <class T>
  requires std::is_arithmetic_v<T> InputValue(T number)
      : number_bytes_(sizeof(T)), dtype_(element_type<T>()) {
    std::memcpy(number_.data(), &number, sizeof(T));
  }

  /// The elements; valid as long as this object and what it refers to.
  std::span<const std::byte> bytes() const {
    return number_bytes_ > 0 ? std::span(number_).first(number_bytes_) : elements_;
  }
  /// Type of the elements; absent when they were given as bytes.
  std::optional<DType> dtype() const { return dtype_; }

 private:
  template <class T>
  static constexpr std::optional<DType> element_type() {
    if constexpr (std::same_as<T, std::byte>) return std::nullopt;
    // long and long long are different types of one size, of which std::int64_t is one.
    else if constexpr (std::signed_integral<T> && sizeof(T) == 8)
      return DType::i64;
    else
      return dtype_of<T>;
  }

  std::span<const std::byte> elements_;
  std::array<std::byte, 8> number_{};
  std::size_t number_bytes_ = 0;
  std::optional<DType> dtype_;
};

/// Inputs by name.
using Inputs = std::map<std::string, InputValue>;

}  // namespace swapadvisor
