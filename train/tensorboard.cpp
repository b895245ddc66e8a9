#include <fcntl.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/train/crc32c.h>
#include <swapadvisor/train/tensorboard.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace swapadvisor {
namespace {

static_assert(std::endian::native == std::endian::little, "fixed-width fields are little-endian");

/// A protocol buffers message being encoded.
class Message {
 public:
  void number(int field, std::uint64_t value) {
    varint(tag(field, 0));
    varint(value);
  }
  void fixed(int field, double value) {
    varint(tag(field, 1));
    raw(value);
  }
  void fixed(int field, float value) {
    varint(tag(field, 5));
    raw(value);
  }
  void bytes(int field, std::string_view value) {
    varint(tag(field, 2));
    varint(value.size());
    text_ += value;
  }
  const std::string& text() const { return text_; }

 private:
  static std::uint64_t tag(int field, unsigned wire_type) {
    return static_cast<unsigned>(field) << 3 | wire_type;
  }
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) text_ += static_cast<char>(value | 128);
    text_ += static_cast<char>(value);
  }
  template <class T>
  void raw(T value) {
    std::array<char, sizeof(T)> copy;
    std::memcpy(copy.data(), &value, sizeof(T));
    text_.append(copy.data(), copy.size());
  }

  std::string text_;
};

/// Field numbers of tensorflow.Event and of what it holds.
namespace field {
constexpr int event_wall_time = 1, event_step = 2, event_file_version = 3, event_summary = 5,
              event_session_log = 7;
constexpr int summary_value = 1, value_tag = 1, value_simple_value = 2;
constexpr int session_log_status = 1;
}  // namespace field

Message new_event() {
  Message event;
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  event.fixed(field::event_wall_time, std::chrono::duration<double>(since_epoch).count());
  return event;
}

/// A record's checksums are stored so that checksums of records that hold checksums stay strong.
std::uint32_t masked(std::uint32_t crc) {
  return std::rotr(crc, 15) + 0xa282ead8u;
}

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail("cannot make the folder '{}': {}", folder, error.message());
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  for (int number = 0; file_ < 0; ++number) {
    const std::string name =
        fmt::format("events.out.tfevents.{}.{}.{}.{}", seconds.count(), host_name(), ::getpid(), number);
    path_ = (std::filesystem::path(folder) / name).string();
    file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST)
      fail("cannot write '{}': {}", path_, std::generic_category().message(errno));
  }
  Message event = new_event();
  event.bytes(field::event_file_version, "brain.Event:2");
  write(event.text());
}

TensorBoardWriter::~TensorBoardWriter() {
  ::close(file_);
}

void TensorBoardWriter::restart_at(std::int64_t step) {
  constexpr std::uint64_t start = 1;
  Message log, event = new_event();
  log.number(field::session_log_status, start);
  event.number(field::event_step, static_cast<std::uint64_t>(step));
  event.bytes(field::event_session_log, log.text());
  write(event.text());
}

void TensorBoardWriter::scalars(std::int64_t step, std::span<const ScalarSummary> values) {
  Message summary, event = new_event();
  for (const auto& [tag, number] : values) {
    Message value;
    value.bytes(field::value_tag, tag);
    value.fixed(field::value_simple_value, static_cast<float>(number));
    summary.bytes(field::summary_value, value.text());
  }
  event.number(field::event_step, static_cast<std::uint64_t>(step));
  event.bytes(field::event_summary, summary.text());
  write(event.text());
}

void TensorBoardWriter::write(std::string_view event) {
  const std::uint64_t length = event.size();
  const std::uint32_t length_crc = masked(crc32c(bytes_of(length))), event_crc = masked(crc32c(event));
  std::string record;
  for (const std::string_view part : {bytes_of(length), bytes_of(length_crc), event, bytes_of(event_crc)})
    record += part;
  for (std::size_t done = 0; done < record.size();) {
    const ssize_t count = ::write(file_, record.data() + done, record.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot write '{}': {}", path_, std::generic_category().message(errno));
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace swapadvisor
