#include <swapadvisor/core/cuda/cuda_stream.h>

#include <functional>

namespace swapadvisor::cuda {

EventClock::EventClock(cudaStream_t stream) : stream_(stream) {
  check(cudaEventRecord(base_.get(), stream_), "record of an event");
  check(cudaEventSynchronize(base_.get()), "record of an event");  // events of other streams may come before
}

double EventClock::seconds(cudaEvent_t event) {
  constexpr float far_milliseconds = 8192;  // beyond, single precision is coarser than half a microsecond
  if (next_pending_ && cudaEventQuery(next_.get()) == cudaSuccess) {
    float moved = 0;
    check(cudaEventElapsedTime(&moved, base_.get(), next_.get()), "timing of an event");
    base_seconds_ += static_cast<double>(moved) / 1e3;
    std::swap(base_, next_);
    next_pending_ = false;
  }
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, base_.get(), event), "timing of an event");
  if (milliseconds > far_milliseconds && !next_pending_) {
    check(cudaEventRecord(next_.get(), stream_), "record of an event");
    next_pending_ = true;
  }
  return base_seconds_ + static_cast<double>(milliseconds) / 1e3;
}

EventHandle EventPool::take() {
  if (free_.empty()) return EventHandle();
  EventHandle event = std::move(free_.back());
  free_.pop_back();
  return event;
}

void CudaEvent::synchronize() {
  if (recorded_) check(cudaEventSynchronize(event_.get()), "work on the GPU");
}

CudaStream::CudaStream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creation of a stream");
}

CudaStream::~CudaStream() {
  cudaStreamDestroy(stream_);
}

void CudaStream::set_arena(const std::byte* data, std::int64_t bytes) {
  arena_ = data;
  arena_bytes_ = bytes;
}

bool CudaStream::in_arena(const void* address) const {
  const auto* at = static_cast<const std::byte*>(address);
  return !std::less<>{}(at, arena_) && std::less<>{}(at, arena_ + arena_bytes_);
}

void CudaStream::copy(void* target, const void* source, std::int64_t bytes) {
  const bool to = in_arena(target), from = in_arena(source);
  SWAPADVISOR_ASSERT(to != from, "a copy of {} bytes is not between host and arena", bytes);
  check(cudaMemcpyAsync(target, source, static_cast<std::size_t>(bytes),
                        to ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream_),
        to ? "a copy to the device" : "a copy to the host");
}

void CudaStream::fill(void* target, int byte, std::int64_t bytes) {
  check(cudaMemsetAsync(target, byte, static_cast<std::size_t>(bytes), stream_), "filling memory");
}

void CudaStream::record(Event& event) {
  auto& own = dynamic_cast<CudaEvent&>(event);
  check(cudaEventRecord(own.get(), stream_), "record of an event");
  own.mark_recorded();
}

void CudaStream::record_time(Event& event) {
  auto& own = dynamic_cast<CudaEvent&>(event);
  check(cudaEventRecordWithFlags(own.get(), stream_, cudaEventRecordExternal),
        "capture of an event's record");
  own.mark_recorded();
}

void CudaStream::wait(const Event& event) {
  const auto& own = dynamic_cast<const CudaEvent&>(event);
  if (own.recorded()) check(cudaStreamWaitEvent(stream_, own.get(), 0), "wait for an event");
}

void CudaStream::synchronize() {
  check(cudaStreamSynchronize(stream_), "work on the GPU");
}

}  // namespace swapadvisor::cuda
