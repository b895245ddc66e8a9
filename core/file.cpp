#include <fcntl.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace swapadvisor {
namespace {

// Closes a file that was only read, where an error has nothing to lose.
class ReadHandle {
 public:
  explicit ReadHandle(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ReadHandle() {
    if (file_ >= 0) ::close(file_);
  }
  ReadHandle(const ReadHandle&) = delete;
  ReadHandle& operator=(const ReadHandle&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

std::string reason(int error) {
  return std::generic_category().message(error);
}

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

// The rename itself must survive a power cut. Some file systems cannot sync a directory; the file is safe
// anyway.
void sync_directory(const std::string& directory) {
  const ReadHandle handle(directory);
  if (handle.get() >= 0) ::fsync(handle.get());
}

// Creates a file next to `target` that did not exist; 0666 so that the umask decides who may read it.
int create_temporary(const std::string& target, std::string& name) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    name = fmt::format("{}.{}.{}.tmp", target, ::getpid(), attempt);
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace

RegularFile::RegularFile(std::string path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status {};
  const int error = file_ < 0 || ::fstat(file_, &status) != 0 ? errno : 0;
  if (error == 0 && S_ISREG(status.st_mode)) {
    bytes_ = status.st_size;
    return;
  }
  if (file_ >= 0) ::close(file_);
  fail("cannot read '{}': {}", path_, error != 0 ? reason(error) : "it is not a regular file");
}

RegularFile::~RegularFile() {
  ::close(file_);
}

void RegularFile::read_at(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(file_, out.data(), out.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot read '{}': {}", path_, reason(errno));
    if (count == 0) fail("cannot read '{}': it ends at byte {}; did it change?", path_, offset);
    out = out.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

std::string read_file(const std::string& path, std::int64_t max_bytes) {
  const ReadHandle handle(path);
  struct stat status {};
  if (handle.get() < 0 || ::fstat(handle.get(), &status) != 0)
    fail("cannot read '{}': {}", path, reason(errno));
  if (S_ISDIR(status.st_mode)) fail("cannot read '{}': it is a directory", path);
  if (status.st_size > max_bytes)
    fail("cannot read '{}': it has {} bytes, more than the largest accepted, {}", path, status.st_size,
         max_bytes);
  // Pipes have no size, and files may grow: read until the end, up to one byte more than allowed.
  const std::size_t limit = static_cast<std::size_t>(max_bytes) + 1;
  std::string bytes;
  std::size_t size = 0;
  for (;;) {
    const std::size_t expected = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0)) + 1;
    if (size == bytes.size())
      bytes.resize(std::min(limit, std::max({expected, 2 * size, std::size_t{4096}})));
    const ssize_t count = ::read(handle.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot read '{}': {}", path, reason(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (size == limit) fail("cannot read '{}': it has more than the {} bytes accepted", path, max_bytes);
  }
  bytes.resize(size);
  return bytes;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), target_(path_) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path_, ignored);
  if (std::filesystem::is_directory(status)) fail("cannot write '{}': it is a directory", path_);
  if (std::filesystem::exists(status)) target_ = std::filesystem::canonical(path_, ignored).string();
  if (target_.empty()) target_ = path_;
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    file_ = create_temporary(target_, temporary_);
  }
  if (file_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail_with(error);
  }
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail_with(int error) {
  discard();
  fail("cannot write '{}': {}", path_, reason(error));
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  SWAPADVISOR_ASSERT(file_ >= 0, "'{}' is written after it was closed", path_);
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::write(file_, next, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with(errno);
    next += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

void AtomicFile::commit() {
  SWAPADVISOR_ASSERT(file_ >= 0, "'{}' is committed after it was closed", path_);
  const bool direct = temporary_.empty();
  // Pipes and terminals cannot be synced; a regular file that cannot may lose data.
  if (::fsync(file_) != 0 && !direct) fail_with(errno);
  const int file = std::exchange(file_, -1);
  if (::close(file) != 0) fail_with(errno);
  if (direct) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with(errno);
  temporary_.clear();
  sync_directory(directory_of(target_));
}

void write_file_atomic(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace swapadvisor
