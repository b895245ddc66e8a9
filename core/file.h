// Files: whole reads with a size cap, and writes that leave either the complete new file or the old one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace swapadvisor {

/// The bytes of a file. Throws `Error` naming the file and the reason, also when it has more than
/// `max_bytes`.
std::string read_file(const std::string& path, std::int64_t max_bytes);

/// A regular file that is open for reading. Every failure throws `Error` with file and reason.
class RegularFile {
 public:
  explicit RegularFile(std::string path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }  ///< when it was opened
  /// Fills `out` from byte `offset` on; an error when the file ends before. Thread-safe.
  void read_at(std::int64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  std::int64_t bytes_ = 0;
  int file_ = -1;
};

/// A file being written under a temporary name in the same directory. `commit` checks that every byte reached
/// the disk (write, fsync, close) and renames it; without `commit`, or when anything fails, the temporary is
/// removed and whatever was at `path` stays. An existing device or pipe (/dev/stdout) is written directly; a
/// symbolic link is followed. Every failure throws `Error` with file and reason. Not thread-safe.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  [[noreturn]] void fail_with(int error);
  void discard();

  std::string path_;       // as given: for messages
  std::string target_;     // links followed
  std::string temporary_;  // empty when the target is written directly
  int file_ = -1;
};

/// Writes `bytes` as the whole of the file at `path`, by AtomicFile.
void write_file_atomic(const std::string& path, std::string_view bytes);

}  // namespace swapadvisor
