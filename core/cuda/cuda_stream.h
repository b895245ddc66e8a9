// Streams and events of CUDA behind the device interface.
#pragma once

#include <swapadvisor/core/cuda/check.h>
#include <swapadvisor/core/cuda/handle.h>
#include <swapadvisor/core/device.h>

#include <utility>
#include <vector>

namespace swapadvisor::cuda {

/// Owns a cudaEvent_t.
class EventHandle : public Handle<cudaEvent_t, cudaEventDestroy> {
 public:
  EventHandle() : Handle(create()) {}

 private:
  static cudaEvent_t create() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDefault), "creation of an event");
    return event;
  }
};

/// Seconds since the device was opened. CUDA tells times between two events in milliseconds of single
/// precision, so the event that they are counted from is moved along.
class EventClock {
 public:
  explicit EventClock(cudaStream_t stream);
  /// Of an event that has been reached.
  double seconds(cudaEvent_t event);

 private:
  cudaStream_t stream_;
  EventHandle base_, next_;
  double base_seconds_ = 0;
  bool next_pending_ = false;
};

/// Events to use again: creating one costs more than a record.
class EventPool {
 public:
  EventHandle take();
  void give(EventHandle event) { free_.push_back(std::move(event)); }

 private:
  std::vector<EventHandle> free_;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(EventPool& pool, EventClock& clock) : pool_(pool), clock_(clock), event_(pool.take()) {}
  ~CudaEvent() override { pool_.give(std::move(event_)); }
  void synchronize() override;
  double seconds() const override { return recorded_ ? clock_.seconds(event_.get()) : 0; }

  cudaEvent_t get() const { return event_.get(); }
  void mark_recorded() { recorded_ = true; }
  bool recorded() const { return recorded_; }

 private:
  EventPool& pool_;
  EventClock& clock_;
  EventHandle event_;
  bool recorded_ = false;  // an event from the pool still has its last record
};

class CudaStream final : public Stream {
 public:
  CudaStream();
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  /// [data, data + bytes) is the arena: tells which way a copy goes.
  void set_arena(const std::byte* data, std::int64_t bytes);

  void launch(const Kernel& kernel, const KernelArgs& args) override { kernel.run(stream_, args); }
  void copy(void* target, const void* source, std::int64_t bytes) override;
  void fill(void* target, int byte, std::int64_t bytes) override;
  void record(Event& event) override;
  void wait(const Event& event) override;
  /// While capturing: a record that each launch of the graph makes.
  void record_time(Event& event);
  void synchronize() override;

  cudaStream_t get() const { return stream_; }

 private:
  bool in_arena(const void* address) const;

  cudaStream_t stream_ = nullptr;
  const std::byte* arena_ = nullptr;
  std::int64_t arena_bytes_ = 0;
};

}  // namespace swapadvisor::cuda
