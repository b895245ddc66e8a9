#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/core/cpu_stream.h>
#include <swapadvisor/core/parallel.h>

#include <sys/mman.h>

#include <array>
#include <fstream>
#include <limits>

namespace swapadvisor {
namespace {

/// Zeroed pages, present from the start: a page fault must not hit a step, nor a late refusal.
class Pages final : public HostMemory {
 public:
  explicit Pages(std::int64_t bytes) : bytes_(round_up(std::max<std::int64_t>(bytes, 1), page_bytes)) {
    void* address = ::mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (address == MAP_FAILED) fail("the system cannot give {} bytes of memory", bytes_);
    data_ = static_cast<std::byte*>(address);
  }
  ~Pages() override { ::munmap(data_, static_cast<std::size_t>(bytes_)); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* data() override { return data_; }
  std::int64_t bytes() const override { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuDeviceOptions& options)
      : options_(options),
        threads_(options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency())),
        streams_{CpuStream([threads = threads_] { use_as_compute_thread(threads); }, 0),
                 CpuStream([] {}, options.link_bytes_per_second), CpuStream([] {}, options.link_bytes_per_second)} {}

  const std::string& name() const override { return name_; }
  int threads() const override { return threads_; }
  std::int64_t free_bytes() const override {
    return options_.memory_bytes > 0 ? options_.memory_bytes : available_memory_bytes();
  }
  std::byte* arena(std::int64_t bytes) override {
    if (!arena_ || arena_bytes_ < bytes) {
      arena_.reset();
      arena_bytes_ = 0;
      if (bytes > available_memory_bytes())
        fail("the device arena needs {} bytes, but the system has {} free", bytes, available_memory_bytes());
      arena_ = std::make_unique<Pages>(bytes);
      arena_bytes_ = bytes;
    }
    return arena_->data();
  }
  std::int64_t arena_bytes() const override { return arena_bytes_; }
  Stream& stream(StreamKind kind) override { return streams_[static_cast<std::size_t>(kind)]; }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CpuEvent>(epoch_); }
  std::unique_ptr<HostMemory> host_alloc(std::int64_t bytes) override {
    if (bytes > available_memory_bytes())
      fail("the host store needs {} more bytes, but the system has {} free", bytes, available_memory_bytes());
    return std::make_unique<Pages>(bytes);
  }
  double link_limit() const override { return options_.link_bytes_per_second; }

 private:
  const std::string name_ = "cpu";
  const SteadyClock::time_point epoch_ = SteadyClock::now();
  CpuDeviceOptions options_;
  int threads_;
  std::unique_ptr<Pages> arena_;
  std::int64_t arena_bytes_ = 0;
  std::array<CpuStream, stream_count> streams_;
};

// The number after `key` in a file such as /proc/meminfo; −1 if there is none.
std::int64_t number_in(const char* path, std::string_view key) {
  std::ifstream file(path);
  std::string word;
  std::int64_t value = -1;
  if (key.empty()) return file >> value ? value : -1;
  while (file >> word)
    if (word == key) return file >> value ? value : -1;
  return -1;
}

}  // namespace

std::int64_t available_memory_bytes() {
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  if (const std::int64_t kib = number_in("/proc/meminfo", "MemAvailable:"); kib >= 0) bytes = kib * 1024;
  const std::int64_t most = number_in("/sys/fs/cgroup/memory.max", "");
  const std::int64_t cache = std::max<std::int64_t>(0, number_in("/sys/fs/cgroup/memory.stat", "inactive_file"));
  const std::int64_t used = number_in("/sys/fs/cgroup/memory.current", "") - cache;
  if (most >= 0 && used >= 0) bytes = std::min(bytes, std::max<std::int64_t>(0, most - used));
  return bytes;
}

std::unique_ptr<Device> make_cpu_device(const CpuDeviceOptions& options) {
  if (options.threads < 0 || options.threads > 1024)
    fail("the CPU device cannot have {} threads: expected 1 to 1024", options.threads);
  if (options.link_bytes_per_second < 0) fail("the link bandwidth {} is negative", options.link_bytes_per_second);
  return std::make_unique<CpuDevice>(options);
}

void Device::synchronize() {
  for (StreamKind kind : {StreamKind::compute, StreamKind::in, StreamKind::out}) stream(kind).synchronize();
}

}  // namespace swapadvisor
