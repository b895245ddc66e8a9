// Element types.
#pragma once

#include <swapadvisor/core/error.h>

#include <cstdint>
#include <string_view>

namespace swapadvisor {

/// Types of tensor elements: IEEE floating point, unsigned and signed integers, with their bits.
enum class DType : std::uint8_t { f32, f64, u8, i32, i64 };

/// Bytes of one element.
constexpr std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32: return 4;
    case DType::f64:
    case DType::i64: return 8;
    case DType::u8: return 1;
  }
  return 0;
}

/// "f32", "i64", …
constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::u8: return "u8";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
  }
  return "?";
}

/// True for f32 and f64.
constexpr bool is_floating(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

/// "f32", "f64", … → DType. Throws `Error` on any other name.
DType parse_dtype(std::string_view name);

/// The element type of C++ type T.
template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "no DType for this type");
  return DType::f32;
}();
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;

/// Calls `f.template operator()<T>()` with T = float or double. Other types are a caller's bug.
template <class F>
decltype(auto) visit_floating(DType dtype, F&& f) {
  SWAPADVISOR_ASSERT(is_floating(dtype), "{} is not a floating-point type", name_of(dtype));
  if (dtype == DType::f64) return f.template operator()<double>();
  return f.template operator()<float>();
}

}  // namespace swapadvisor
