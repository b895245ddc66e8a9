#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/train/byte_source.h>

#include <algorithm>
#include <cstring>

namespace swapadvisor {
namespace {

constexpr std::int64_t largest_file = std::int64_t{16} << 30;

bool is_gzip(const std::string& bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

}  // namespace

ByteSource::ByteSource(const std::string& path) : path_(path), raw_(read_file(path, largest_file)) {
  gzip_ = is_gzip(raw_);
  if (gzip_ && inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) fail("'{}': cannot start zlib", path_);
}

ByteSource::~ByteSource() {
  if (gzip_) inflateEnd(&stream_);
}

std::size_t ByteSource::read(std::span<std::uint8_t> out) {
  return gzip_ ? inflate_into(out) : copy_into(out);
}

std::size_t ByteSource::copy_into(std::span<std::uint8_t> out) {
  const std::size_t count = std::min(out.size(), raw_.size() - position_);
  if (count > 0) std::memcpy(out.data(), raw_.data() + position_, count);
  position_ += count;
  return count;
}

std::size_t ByteSource::inflate_into(std::span<std::uint8_t> out) {
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

void ByteSource::end_member() {
  ended_ = position_ == raw_.size();
  if (ended_) return;
  if (!is_gzip(raw_.substr(position_, 2)))
    fail("'{}': {} bytes follow the gzip data", path_, raw_.size() - position_);
  if (inflateReset(&stream_) != Z_OK) fail("'{}': cannot restart zlib", path_);
}

std::string read_inflated(const std::string& path, std::int64_t max_bytes) {
  constexpr std::size_t piece = std::size_t{4} << 20;
  ByteSource source(path);
  std::string bytes;
  for (;;) {
    const std::size_t size = bytes.size();
    bytes.resize(size + piece);
    const std::size_t got = source.read({reinterpret_cast<std::uint8_t*>(bytes.data()) + size, piece});
    bytes.resize(size + got);
    if (static_cast<std::int64_t>(bytes.size()) > max_bytes)
      fail("'{}' has more than {} bytes", path, max_bytes);
    if (got < piece) return bytes;
  }
}

}  // namespace swapadvisor
