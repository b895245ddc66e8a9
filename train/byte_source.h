// The content of a file that may be gzipped.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <span>
#include <string>

namespace swapadvisor {

/// Reads a file front to back, inflated on the way when it is gzipped. Not thread-safe.
class ByteSource {
 public:
  /// Throws `Error` naming the file when it cannot be read.
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills `out` as far as there are bytes; returns how many. Throws `Error` for gzip data that are truncated
  /// or corrupt.
  std::size_t read(std::span<std::uint8_t> out);

 private:
  std::size_t copy_into(std::span<std::uint8_t> out);
  std::size_t inflate_into(std::span<std::uint8_t> out);
  void end_member();

  std::string path_;
  std::string raw_;
  std::size_t position_ = 0;
  bool gzip_ = false;
  bool ended_ = false;
  z_stream stream_{};
};

/// All of it. Throws `Error` naming the file also when there are more than `max_bytes`.
std::string read_inflated(const std::string& path, std::int64_t max_bytes);

}  // namespace swapadvisor
