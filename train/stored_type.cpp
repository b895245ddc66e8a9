#include <swapadvisor/train/stored_type.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace swapadvisor {
namespace {

static_assert(std::endian::native == std::endian::little, "stored elements are little-endian");

struct TypeInfo {
  StoredType type;
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array types = {TypeInfo{StoredType::f64, "F64", 8}, TypeInfo{StoredType::f32, "F32", 4},
                              TypeInfo{StoredType::f16, "F16", 2}, TypeInfo{StoredType::bf16, "BF16", 2},
                              TypeInfo{StoredType::i64, "I64", 8}, TypeInfo{StoredType::i32, "I32", 4},
                              TypeInfo{StoredType::i16, "I16", 2}, TypeInfo{StoredType::i8, "I8", 1},
                              TypeInfo{StoredType::u8, "U8", 1},   TypeInfo{StoredType::boolean, "BOOL", 1}};

const TypeInfo& info_of(StoredType type) {
  const auto* found =
      std::find_if(types.begin(), types.end(), [&](const TypeInfo& t) { return t.type == type; });
  SWAPADVISOR_ASSERT(found != types.end(), "stored type {}", static_cast<int>(type));
  return *found;
}

bool is_floating(StoredType type) {
  return type == StoredType::f64 || type == StoredType::f32 || type == StoredType::f16 ||
         type == StoredType::bf16;
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half} >> 15 << 31, exponent = half >> 10 & 31,
                      mantissa = half & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float small = static_cast<float>(mantissa) * 0x1p-24f;  // zero or subnormal
  return sign ? -small : small;
}

template <class T>
T load(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof value);
  return value;
}

double load_floating(StoredType type, const std::byte* source) {
  switch (type) {
    case StoredType::f64:
      return load<double>(source);
    case StoredType::f32:
      return load<float>(source);
    case StoredType::f16:
      return half_to_float(load<std::uint16_t>(source));
    default:
      return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(source)} << 16);
  }
}

std::int64_t load_integer(StoredType type, const std::byte* source) {
  switch (type) {
    case StoredType::i64:
      return load<std::int64_t>(source);
    case StoredType::i32:
      return load<std::int32_t>(source);
    case StoredType::i16:
      return load<std::int16_t>(source);
    case StoredType::i8:
      return load<std::int8_t>(source);
    default:
      return load<std::uint8_t>(source);
  }
}

template <class T>
std::optional<std::int64_t> convert(StoredType type, std::span<const std::byte> from, std::byte* to) {
  const auto step = static_cast<std::size_t>(size_of(type));
  for (std::size_t i = 0; i < from.size(); i += step, to += sizeof(T)) {
    T value{};
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, BFloat16>) {
      value = static_cast<T>(load_floating(type, from.data() + i));
    } else {
      const std::int64_t wide = load_integer(type, from.data() + i);
      value = static_cast<T>(wide);
      if (static_cast<std::int64_t>(value) != wide) return wide;
    }
    std::memcpy(to, &value, sizeof value);
  }
  return std::nullopt;
}

}  // namespace

std::int64_t size_of(StoredType type) {
  return info_of(type).bytes;
}

std::string_view name_of(StoredType type) {
  return info_of(type).name;
}

std::optional<StoredType> find_stored_type(std::string_view name) {
  for (const TypeInfo& info : types)
    if (info.name == name) return info.type;
  return std::nullopt;
}

StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return StoredType::f32;
    case DType::f64:
      return StoredType::f64;
    case DType::u8:
      return StoredType::u8;
    case DType::i32:
      return StoredType::i32;
    case DType::i64:
      return StoredType::i64;
    case DType::bf16:
      return StoredType::bf16;
  }
  SWAPADVISOR_ASSERT(false, "element type {}", static_cast<int>(dtype));
  return StoredType::f32;
}

bool is_convertible(StoredType type, DType dtype) {
  return is_floating(type) == is_floating(dtype);
}

std::optional<std::int64_t> convert_stored(StoredType type, std::span<const std::byte> from, DType dtype,
                                           std::byte* to) {
  SWAPADVISOR_ASSERT(is_convertible(type, dtype), "{} to {}", name_of(type), name_of(dtype));
  if (type == stored_type(dtype)) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return std::nullopt;
  }
  switch (dtype) {
    case DType::f32:
      return convert<float>(type, from, to);
    case DType::f64:
      return convert<double>(type, from, to);
    case DType::u8:
      return convert<std::uint8_t>(type, from, to);
    case DType::i32:
      return convert<std::int32_t>(type, from, to);
    case DType::i64:
      return convert<std::int64_t>(type, from, to);
    case DType::bf16:
      return convert<BFloat16>(type, from, to);
  }
  return std::nullopt;
}

}  // namespace swapadvisor
