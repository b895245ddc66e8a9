// CRC-32C (Castagnoli): the checksum of TensorFlow's record files, and of our checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace swapadvisor {

/// The checksum of the bytes that `previous` is of, followed by `bytes`.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous = 0);
inline std::uint32_t crc32c(std::string_view text, std::uint32_t previous = 0) {
  return crc32c(std::as_bytes(std::span(text.data(), text.size())), previous);
}

}  // namespace swapadvisor
