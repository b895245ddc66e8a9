#include <swapadvisor/core/error.h>
#include <swapadvisor/train/byte_source.h>
#include <swapadvisor/train/idx.h>

#include <algorithm>
#include <array>
#include <span>

namespace swapadvisor {
namespace {

constexpr std::int64_t largest_array = std::int64_t{64} << 30;

std::uint32_t read_u32(ByteSource& source, const std::string& path) {
  std::array<std::uint8_t, 4> b{};
  if (source.read(b) != b.size()) fail("'{}': the file ends within the IDX header", path);
  return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

std::vector<std::uint8_t> read_elements(ByteSource& source, const std::string& path, std::int64_t count) {
  constexpr std::int64_t piece = std::int64_t{16} << 20;
  std::vector<std::uint8_t> bytes;
  for (std::int64_t size = 0; size < count;) {
    const std::int64_t wanted = std::min(piece, count - size);
    bytes.resize(static_cast<std::size_t>(size + wanted));
    const std::size_t got = source.read(std::span(bytes).subspan(static_cast<std::size_t>(size)));
    size += static_cast<std::int64_t>(got);
    if (static_cast<std::int64_t>(got) < wanted)
      fail("'{}' is truncated: the IDX header promises {} elements, the file has {}", path, count, size);
  }
  return bytes;
}

}  // namespace

IdxArray read_idx(const std::string& path, int rank) {
  ByteSource source(path);
  const std::uint32_t expected = 0x800u + static_cast<std::uint32_t>(rank), magic = read_u32(source, path);
  if (magic != expected)
    fail(
        "'{}' is not an IDX file of unsigned bytes with {} dimensions: it starts with 0x{:08x}, not 0x{:08x}",
        path, rank, magic, expected);
  IdxArray array;
  std::int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    array.dims.push_back(read_u32(source, path));
    if (array.dims.back() == 0) fail("'{}' is empty: IDX dimension {} is 0", path, i);
    if (__builtin_mul_overflow(count, array.dims.back(), &count) || count > largest_array)
      fail("'{}': the IDX header promises more than {} elements", path, largest_array);
  }
  array.bytes = read_elements(source, path, count);
  std::array<std::uint8_t, 1> extra{};
  if (source.read(extra) != 0)
    fail("'{}': bytes follow the {} elements that the IDX header promises", path, count);
  return array;
}

}  // namespace swapadvisor
