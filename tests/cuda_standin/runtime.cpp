// The functions of the CUDA runtime that the CUDA device calls, on the CPU.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "graphs.h"
#include "launches.h"
#include "memory.h"

using namespace standin;

namespace {

thread_local cudaError_t last_error = cudaSuccess;
bool driver = true;

bool no_driver() {
  // Lets tests see what a machine without a driver shows.
  const char* text = std::getenv("SWAPADVISOR_STANDIN_NO_DRIVER");
  return !driver || (text != nullptr && std::string_view(text) == "1");
}

/// Work that refers to an event keeps it, so that it may be destroyed before it is reached.
SharedEvent& state(cudaEvent_t event) {
  return *reinterpret_cast<SharedEvent*>(event);
}

/// Of a host wait for a stream, an event or everything.
cudaError_t waited(bool reached, const Clock& clock) {
  if (!reached) return result(cudaErrorLaunchFailure);
  hazards().host_waited(clock);
  return cudaSuccess;
}

cudaError_t wait_for_all() {
  if (refused_by_capture()) return result(cudaErrorStreamCaptureUnsupported);
  if (!scheduler().drain_all()) return result(cudaErrorLaunchFailure);
  hazards().host_waited_for_all();
  return cudaSuccess;
}

/// Of a question about an event.
cudaError_t asked(const EventState& event) {
  if (refused_by_capture())
    return result(event.capture ? cudaErrorCapturedEvent : cudaErrorStreamCaptureUnsupported);
  return result(event.capture ? cudaErrorCapturedEvent : cudaSuccess);
}

bool valid_copy(const void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  const bool to = memory().on_device(target, bytes), from = memory().on_device(source, bytes);
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return to && !from;
    case cudaMemcpyDeviceToHost:
      return from && !to;
    case cudaMemcpyDeviceToDevice:
      return to && from;
    case cudaMemcpyHostToHost:
      return !to && !from;
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

}  // namespace

namespace standin {

cudaError_t result(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

void set_driver(bool present) {
  driver = present;
}

}  // namespace standin

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorIllegalState:
      return "cudaErrorIllegalState";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureMerge:
      return "cudaErrorStreamCaptureMerge";
    case cudaErrorStreamCaptureUnmatched:
      return "cudaErrorStreamCaptureUnmatched";
    case cudaErrorStreamCaptureUnjoined:
      return "cudaErrorStreamCaptureUnjoined";
    case cudaErrorStreamCaptureIsolation:
      return "cudaErrorStreamCaptureIsolation";
    case cudaErrorCapturedEvent:
      return "cudaErrorCapturedEvent";
    default:
      return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    default:
      return cudaGetErrorName(error);
  }
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (no_driver()) return result(cudaErrorInsufficientDriver);
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (no_driver()) return result(cudaErrorInsufficientDriver);
  return result(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "stand-in");
  properties->totalGlobalMem = memory().total();
  properties->major = 8;
  properties->multiProcessorCount = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return wait_for_all();
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = memory().total();
  *free = memory().total() - memory().used();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  if (refused_by_capture()) return result(cudaErrorStreamCaptureUnsupported);
  *address = memory().allocate(bytes);
  return result(*address ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* address) {
  if (!address) return cudaSuccess;
  if (const cudaError_t status = wait_for_all(); status != cudaSuccess) return status;
  std::size_t bytes = 0;
  if (!memory().free(address, bytes)) return result(cudaErrorInvalidValue);
  hazards().forget(address, bytes);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned) {
  if (refused_by_capture()) return result(cudaErrorStreamCaptureUnsupported);
  *address = memory().allocate_pinned(bytes);
  return result(*address ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void* address) {
  if (const cudaError_t status = wait_for_all(); status != cudaSuccess) return status;
  std::size_t bytes = 0;
  if (!memory().free_pinned(address, bytes)) return result(cudaErrorInvalidValue);
  hazards().forget(address, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(scheduler().create_stream());
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  StreamState* s = stream_state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  if (refused_by_capture()) return result(cudaErrorStreamCaptureUnsupported);
  const bool drained = scheduler().drain(*s);
  scheduler().destroy_stream(s);
  return result(drained ? cudaSuccess : cudaErrorLaunchFailure);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  StreamState* s = stream_state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  if (refused_by_capture()) return result(cudaErrorStreamCaptureUnsupported);
  return waited(scheduler().drain(*s), hazards().clock(s->number));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new SharedEvent(std::make_shared<EventState>()));
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!event) return result(cudaErrorInvalidResourceHandle);
  delete &state(event);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (!event) return result(cudaErrorInvalidResourceHandle);
  const SharedEvent& e = state(event);
  if (const cudaError_t status = asked(*e); status != cudaSuccess) return status;
  if (!scheduler().reached(*e)) return cudaErrorNotReady;
  hazards().host_waited(e->clock);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (!event) return result(cudaErrorInvalidResourceHandle);
  const SharedEvent& e = state(event);
  if (const cudaError_t status = asked(*e); status != cudaSuccess) return status;
  return waited(scheduler().reach(e, e->queued), e->clock);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!start || !end) return result(cudaErrorInvalidResourceHandle);
  const EventState &a = *state(start), &b = *state(end);
  if (a.capture || b.capture) return result(cudaErrorCapturedEvent);
  if (a.queued == 0 || b.queued == 0) return result(cudaErrorInvalidResourceHandle);
  if (!scheduler().reached(a) || !scheduler().reached(b)) return result(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(b.time - a.time).count();
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  StreamState* s = stream_state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  if (!valid_copy(target, source, bytes, kind)) return result(cudaErrorInvalidValue);
  if (s->capture && kind != cudaMemcpyDeviceToDevice &&
      !memory().is_pinned(kind == cudaMemcpyHostToDevice ? source : target, bytes)) {
    refused_by_capture();
    return result(cudaErrorStreamCaptureUnsupported);
  }
  const auto size = static_cast<std::int64_t>(bytes);
  const Touched touched[] = {{source, size, false}, {target, size, true}};
  return queue_work(*s, touched, kind == cudaMemcpyHostToDevice ? "copy to the device" : "copy to the host",
                    true, [=] { std::memcpy(target, source, bytes); });
}

cudaError_t cudaMemsetAsync(void* target, int byte, std::size_t bytes, cudaStream_t stream) {
  StreamState* s = stream_state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  if (!memory().on_device(target, bytes)) return result(cudaErrorInvalidValue);
  const Touched touched{target, static_cast<std::int64_t>(bytes), true};
  return queue_work(*s, {&touched, 1}, "fill", true, [=] { std::memset(target, byte, bytes); });
}
}
