#include <swapadvisor/core/cuda/cuda_device.h>
#include <swapadvisor/core/cuda/cuda_graph.h>
#include <swapadvisor/core/cuda/cuda_stream.h>
#include <swapadvisor/core/units.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <optional>

namespace swapadvisor::cuda {
namespace {

/// Pinned pages, or pageable ones where pinning fails.
class PinnedMemory final : public HostMemory {
 public:
  /// `pageable_bytes`: of the device; counts what is not pinned.
  PinnedMemory(std::int64_t bytes, std::int64_t& pageable_bytes, const std::function<void()>& on_pageable)
      : bytes_(round_up(std::max<std::int64_t>(bytes, 1), page_bytes)), pageable_bytes_(pageable_bytes) {
    void* address = nullptr;
    const auto size = static_cast<std::size_t>(bytes_);
    if (cudaHostAlloc(&address, size, cudaHostAllocDefault) == cudaSuccess) {
      data_ = static_cast<std::byte*>(address);
      std::memset(data_, 0, size);
      return;
    }
    (void)cudaGetLastError();
    pinned_ = false;
    address =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (address == MAP_FAILED) fail("the system cannot give {} bytes of memory", bytes_);
    data_ = static_cast<std::byte*>(address);
    pageable_bytes_ += bytes_;
    on_pageable();
  }
  ~PinnedMemory() override {
    if (pinned_) {
      cudaFreeHost(data_);
      return;
    }
    ::munmap(data_, static_cast<std::size_t>(bytes_));
    pageable_bytes_ -= bytes_;
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::byte* data() override { return data_; }
  std::int64_t bytes() const override { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_;
  std::int64_t& pageable_bytes_;
  bool pinned_ = true;
};

/// The arena: exactly the bytes asked for, in one piece.
class Arena {
 public:
  Arena(std::int64_t bytes, std::int64_t free) : bytes_(bytes) {
    void* address = nullptr;
    const cudaError_t status = cudaMalloc(&address, static_cast<std::size_t>(bytes));
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      fail("the device arena needs {} bytes, but the GPU has {} free", bytes, free);
    }
    check(status, "allocation of the arena");
    data_ = static_cast<std::byte*>(address);
  }
  ~Arena() { cudaFree(data_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_;
};

class CudaDevice final : public Device, public Capture {
 public:
  explicit CudaDevice(const CudaOptions& options)
      : name_(fmt::format("cuda:{}", options.index)), warn_(options.warn), clock_(streams_[0].get()) {}
  ~CudaDevice() override {
    for (CudaStream& stream : streams_) cudaStreamSynchronize(stream.get());
  }

  const std::string& name() const override { return name_; }
  int threads() const override { return 1; }
  std::int64_t free_bytes() const override {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    return static_cast<std::int64_t>(free) + arena_bytes();
  }
  std::byte* arena(std::int64_t bytes) override {
    if (arena_ && arena_->bytes() >= bytes) return arena_->data();
    const std::int64_t free = free_bytes();
    arena_.reset();
    for (CudaStream& stream : streams_) stream.set_arena(nullptr, 0);
    arena_.emplace(std::max<std::int64_t>(bytes, 1), free);
    for (CudaStream& stream : streams_) stream.set_arena(arena_->data(), arena_->bytes());
    return arena_->data();
  }
  std::int64_t arena_bytes() const override { return arena_ ? arena_->bytes() : 0; }
  Stream& stream(StreamKind kind) override { return of(kind); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(events_, clock_); }
  std::unique_ptr<HostMemory> host_alloc(std::int64_t bytes) override {
    return std::make_unique<PinnedMemory>(bytes, pageable_bytes_, [this, bytes] { warn_pageable(bytes); });
  }

  std::string obstacle() const override {
    if (pageable_bytes_ == 0) return {};
    return fmt::format("{} of host memory could not be pinned, and copies of it cannot be captured",
                       format_bytes(pageable_bytes_));
  }
  std::unique_ptr<CapturedWork> capture(const std::function<void()>& queue) override {
    return std::make_unique<CudaGraph>(
        of(StreamKind::compute),
        std::initializer_list<CudaStream*>{&of(StreamKind::in), &of(StreamKind::out)}, queue);
  }
  void record_time(StreamKind kind, Event& event) override { of(kind).record_time(event); }

 private:
  CudaStream& of(StreamKind kind) { return streams_[static_cast<std::size_t>(kind)]; }
  void warn_pageable(std::int64_t bytes) {
    if (!warn_ || warned_) return;
    warned_ = true;
    warn_(
        fmt::format("{} of host memory could not be pinned: copies of it are slower and wait for each other",
                    format_bytes(bytes)));
  }

  std::string name_;
  std::function<void(const std::string&)> warn_;
  bool warned_ = false;
  std::int64_t pageable_bytes_ = 0;  // of the host memory that there is
  std::optional<Arena> arena_;
  std::array<CudaStream, stream_count> streams_;
  EventPool events_;
  EventClock clock_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(const CudaOptions& options) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "looking for GPUs");
  if (options.index < 0 || options.index >= count)
    fail("there is no GPU {}: this machine has {}, counted from 0", options.index, count);
  check(cudaSetDevice(options.index), "opening the GPU");
  return std::make_unique<CudaDevice>(options);
}

}  // namespace swapadvisor::cuda
