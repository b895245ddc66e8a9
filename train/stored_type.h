// Element types of files: more than the ones that ops compute with.
#pragma once

#include <swapadvisor/core/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace swapadvisor {

/// The element types of safetensors files.
enum class StoredType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

/// Bytes of one element.
std::int64_t size_of(StoredType type);
std::string_view name_of(StoredType type);  ///< as in the files: "F32", "BOOL"
/// The type of that name in the files; absent if there is none.
std::optional<StoredType> find_stored_type(std::string_view name);
/// How elements of `dtype` are stored.
StoredType stored_type(DType dtype);

/// Whether `convert_stored` knows the way: floating point to f32 or f64, integers and booleans to u8, i32 or
/// i64.
bool is_convertible(StoredType type, DType dtype);

/// Converts the elements `from` to `dtype` at `to`, floating point to nearest. Equal types are copied bit by
/// bit. Returns the first integer that does not fit, if there is one. The types must be convertible.
std::optional<std::int64_t> convert_stored(StoredType type, std::span<const std::byte> from, DType dtype,
                                           std::byte* to);

}  // namespace swapadvisor
