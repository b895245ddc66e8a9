#include <swapadvisor/train/crc32c.h>

#include <array>
#include <bit>
#include <cstring>

namespace swapadvisor {
namespace {

static_assert(std::endian::native == std::endian::little, "eight bytes are read as one little-endian word");

using Table = std::array<std::uint32_t, 256>;

/// tables[k][b]: what byte b does to the checksum when k bytes follow it in the same word ("slicing by 8").
constexpr std::array<Table, 8> make_tables() {
  constexpr std::uint32_t reversed_polynomial = 0x82f63b78;
  std::array<Table, 8> tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? reversed_polynomial : 0);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b)
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 255];
  return tables;
}

constexpr std::array<Table, 8> tables = make_tables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) {
  std::uint32_t crc = ~previous;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= tables[7 - k][word >> (8 * k) & 255];
    bytes = bytes.subspan(8);
  }
  for (const std::byte b : bytes) crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<std::uint32_t>(b)) & 255];
  return ~crc;
}

}  // namespace swapadvisor
