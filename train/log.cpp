#include <fcntl.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/train/log.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

namespace swapadvisor {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace

JsonLinesLog::JsonLinesLog(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail("cannot write the log '{}': {}", path, reason(errno));
  try {
    end_broken_line();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

JsonLinesLog::~JsonLinesLog() {
  ::close(file_);
}

void JsonLinesLog::end_broken_line() {
  struct stat status {};
  if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return;
  const int reader = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (reader < 0) return;  // a log that may be written but not read
  char last = '\n';
  const ssize_t count = ::pread(reader, &last, 1, status.st_size - 1);
  ::close(reader);
  if (count == 1 && last != '\n') append("\n");
}

void JsonLinesLog::append(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(file_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot write the log '{}': {}", path_, reason(errno));
    done += static_cast<std::size_t>(count);
  }
}

void JsonLinesLog::write(const nlohmann::ordered_json& object) {
  append(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace swapadvisor
