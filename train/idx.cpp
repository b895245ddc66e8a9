#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/train/idx.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>

namespace swapadvisor {
namespace {

constexpr std::int64_t largest_file = std::int64_t{16} << 30;
constexpr std::int64_t largest_array = std::int64_t{64} << 30;

bool is_gzip(const std::string& bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

// The content of a file, inflated on the way when it is gzipped.
class ByteSource {
 public:
  explicit ByteSource(const std::string& path) : path_(path), raw_(read_file(path, largest_file)) {
    gzip_ = is_gzip(raw_);
    if (gzip_ && inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) fail("'{}': cannot start zlib", path_);
  }
  ~ByteSource() {
    if (gzip_) inflateEnd(&stream_);
  }
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Fills `out` as far as there are bytes; returns how many.
  std::size_t read(std::span<std::uint8_t> out) { return gzip_ ? inflate_into(out) : copy_into(out); }

 private:
  std::size_t copy_into(std::span<std::uint8_t> out) {
    const std::size_t count = std::min(out.size(), raw_.size() - position_);
    if (count > 0) std::memcpy(out.data(), raw_.data() + position_, count);
    position_ += count;
    return count;
  }

  std::size_t inflate_into(std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size() && !ended_) {
      constexpr std::size_t piece = std::size_t{1} << 30;  // zlib counts in 32 bits
      const std::size_t in = std::min(piece, raw_.size() - position_),
                        room = std::min(piece, out.size() - done);
      stream_.next_in = reinterpret_cast<Bytef*>(raw_.data() + position_);
      stream_.avail_in = static_cast<uInt>(in);
      stream_.next_out = out.data() + done;
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      position_ += in - stream_.avail_in;
      done += room - stream_.avail_out;
      if (status == Z_STREAM_END) {
        end_member();
      } else if (status == Z_BUF_ERROR ||
                 (status == Z_OK && position_ == raw_.size() && stream_.avail_out > 0)) {
        fail("'{}': the gzip data is truncated", path_);
      } else if (status != Z_OK) {
        fail("'{}': the gzip data is corrupt ({})", path_, stream_.msg ? stream_.msg : "zlib error");
      }
    }
    return done;
  }

  // gzip files may hold several members one after the other.
  void end_member() {
    ended_ = position_ == raw_.size();
    if (ended_) return;
    if (!is_gzip(raw_.substr(position_, 2)))
      fail("'{}': {} bytes follow the gzip data", path_, raw_.size() - position_);
    if (inflateReset(&stream_) != Z_OK) fail("'{}': cannot restart zlib", path_);
  }

  std::string path_;
  std::string raw_;
  std::size_t position_ = 0;
  bool gzip_ = false;
  bool ended_ = false;
  z_stream stream_{};
};

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
