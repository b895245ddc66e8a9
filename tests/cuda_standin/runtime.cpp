// The functions of the CUDA runtime that the CUDA device calls, on the CPU.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "fibers.h"
#include "memory.h"
#include "streams.h"

using namespace standin;

namespace {

thread_local cudaError_t last_error = cudaSuccess;
ThreadOrder thread_order = ThreadOrder::forward;
std::uint32_t thread_seed = 1;

cudaError_t result(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

bool no_driver() {
  // Lets tests see what a machine without a driver shows.
  const char* text = std::getenv("SWAPADVISOR_STANDIN_NO_DRIVER");
  return text != nullptr && std::string_view(text) == "1";
}

StreamState* state(cudaStream_t stream) {
  auto* s = reinterpret_cast<StreamState*>(stream);
  return scheduler().owns(s) ? s : nullptr;
}

EventState* state(cudaEvent_t event) {
  return reinterpret_cast<EventState*>(event);
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

cudaError_t queue_launch(Launch launch) {
  StreamState* stream = state(launch.stream);
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (!stream) return result(cudaErrorInvalidResourceHandle);
  if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0 || threads == 0 || threads > 1024 ||
      launch.block.z > 64 || launch.grid.y > 65535 || launch.grid.z > 65535 ||
      launch.shared_bytes > 48 * 1024)
    return result(cudaErrorInvalidConfiguration);
  for (const PointerArgument& pointer : launch.pointers)
    if (!memory().on_device(pointer.address, 1)) return result(cudaErrorInvalidValue);
  scheduler().push(
      *stream, {[launch = std::move(launch)] { block_runner().run(launch, thread_order, ++thread_seed); }});
  return cudaSuccess;
}

cudaError_t queue_library_call(cudaStream_t stream, const char*, std::vector<Touched> touched,
                               std::function<void()> work) {
  StreamState* s = state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  for (const Touched& t : touched)
    if (t.bytes > 0 && !memory().on_device(t.address, static_cast<std::size_t>(t.bytes)))
      return result(cudaErrorInvalidValue);
  scheduler().push(*s, {std::move(work)});
  return cudaSuccess;
}

}  // namespace standin

extern "C" {

void standin_configure(int schedule, int threads, std::uint32_t seed) {
  (void)scheduler().drain_all();
  scheduler().configure(static_cast<StandinSchedule>(schedule), seed);
  thread_order = static_cast<ThreadOrder>(threads);
  thread_seed = seed;
}

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
  return result(scheduler().drain_all() ? cudaSuccess : cudaErrorLaunchFailure);
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = memory().total();
  *free = memory().total() - memory().used();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  *address = memory().allocate(bytes);
  return result(*address ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* address) {
  if (!address) return cudaSuccess;
  if (!scheduler().drain_all()) return result(cudaErrorLaunchFailure);
  return result(memory().free(address) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned) {
  *address = memory().allocate_pinned(bytes);
  return result(*address ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void* address) {
  return result(memory().free_pinned(address) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(scheduler().create_stream());
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  StreamState* s = state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  const bool drained = scheduler().drain(*s);
  scheduler().destroy_stream(s);
  return result(drained ? cudaSuccess : cudaErrorLaunchFailure);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  StreamState* s = state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  return result(scheduler().drain(*s) ? cudaSuccess : cudaErrorLaunchFailure);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  StreamState* s = state(stream);
  if (!s || !event) return result(cudaErrorInvalidResourceHandle);
  scheduler().wait(*s, *state(event));
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new EventState);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!event) return result(cudaErrorInvalidResourceHandle);
  EventState* e = state(event);
  if (!scheduler().reach(*e, e->queued)) return result(cudaErrorLaunchFailure);
  delete e;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  StreamState* s = state(stream);
  if (!s || !event) return result(cudaErrorInvalidResourceHandle);
  scheduler().record(*s, *state(event));
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const EventState& e = *state(event);
  return e.reached >= e.queued ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (!event) return result(cudaErrorInvalidResourceHandle);
  EventState& e = *state(event);
  return result(scheduler().reach(e, e.queued) ? cudaSuccess : cudaErrorLaunchFailure);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const EventState &a = *state(start), &b = *state(end);
  if (a.queued == 0 || b.queued == 0) return result(cudaErrorInvalidResourceHandle);
  if (a.reached < a.queued || b.reached < b.queued) return result(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(b.time - a.time).count();
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  StreamState* s = state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  if (!valid_copy(target, source, bytes, kind)) return result(cudaErrorInvalidValue);
  scheduler().push(*s, {[=] { std::memcpy(target, source, bytes); }});
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* target, int byte, std::size_t bytes, cudaStream_t stream) {
  StreamState* s = state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  if (!memory().on_device(target, bytes)) return result(cudaErrorInvalidValue);
  scheduler().push(*s, {[=] { std::memset(target, byte, bytes); }});
  return cudaSuccess;
}
}
