// Element types.
#pragma once

#include <swapadvisor/core/bfloat16.h>
#include <swapadvisor/core/error.h>

#include <cstdint>
#include <string_view>

namespace swapadvisor {

/// Types of tensor elements: IEEE floating point, unsigned and signed integers, with their bits.
enum class DType : std::uint8_t { f32, f64, u8, i32, i64, bf16 };

/// Bytes of one element.
constexpr std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32: return 4;
    case DType::f64:
    case DType::i64: return 8;
    case DType::bf16: return 2;
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
    case DType::bf16: return "bf16";
  }
  return "?";
}

/// True for f32, f64 and bf16.
constexpr bool is_floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16;
}

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
template <>
inline constexpr DType dtype_of<BFloat16> = DType::bf16;

/// Calls `f.template operator()<T>()` with T = float or double. Other types, bf16 too, are a caller's bug.
template <class F>
decltype(auto) visit_floating(DType dtype, F&& f) {
  SWAPADVISOR_ASSERT(dtype == DType::f32 || dtype == DType::f64, "{} is neither f32 nor f64", name_of(dtype));
  if (dtype == DType::f64) return f.template operator()<double>();
  return f.template operator()<float>();
}

}  // namespace swapadvisor
