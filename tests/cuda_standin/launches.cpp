// Launches and library calls: what they may touch, and their way into a stream's queue.
#include "launches.h"

#include <algorithm>
#include <cstdio>

#include "fibers.h"
#include "graphs.h"
#include "memory.h"

namespace standin {
namespace {

ThreadOrder thread_order = ThreadOrder::forward;
std::uint32_t thread_seed = 1;
std::string next_name;

bool within(const Touched& part, const Touched& whole) {
  const auto* at = static_cast<const std::byte*>(part.address);
  const auto* begin = static_cast<const std::byte*>(whole.address);
  return at >= begin && at + part.bytes <= begin + whole.bytes;
}

void fault(const std::string& what, const Touched& touched, const char* reason) {
  char where[64];
  std::snprintf(where, sizeof where, "%lld bytes at %p", static_cast<long long>(touched.bytes),
                touched.address);
  hazards().report("'" + what + "' gets a pointer to " + (touched.written ? "write " : "read ") + where +
                   ", " + reason);
}

void check_operands(const StreamState& stream, const std::string& what, const Touched& touched) {
  if (!stream.operands) {
    const auto& all = scheduler().streams();
    if (std::any_of(all.begin(), all.end(), [](const StreamState* s) { return s->operands.has_value(); }))
      fault(what, touched, "on another stream than its operands were declared for");
    return;
  }
  bool found = false;
  for (const Touched& operand : stream.operands->ranges) {
    if (!within(touched, operand)) continue;
    if (!touched.written || operand.written) return;
    found = true;
  }
  fault(stream.operands->name + ": " + what, touched,
        found ? "which is only read by the op" : "which no operand of the op covers");
}

}  // namespace

void set_thread_order(int order, std::uint32_t seed) {
  thread_order = static_cast<ThreadOrder>(order);
  thread_seed = seed;
}

StreamState* stream_state(cudaStream_t stream) {
  auto* s = reinterpret_cast<StreamState*>(stream);
  return scheduler().owns(s) ? s : nullptr;
}

cudaError_t queue_launch(Launch launch) {
  StreamState* stream = stream_state(launch.stream);
  if (!stream) return result(cudaErrorInvalidResourceHandle);
  const dim3 &grid = launch.grid, &block = launch.block;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0 || threads > 1024 || block.z > 64 ||
      grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 || launch.shared_bytes > 48 * 1024)
    return result(cudaErrorInvalidConfiguration);
  for (const PointerArgument& pointer : launch.pointers) {
    if (!memory().on_device(pointer.address, 1)) return result(cudaErrorInvalidValue);
    check_operands(*stream, "kernel", {pointer.address, 1, pointer.written});
  }
  const std::uint32_t seed = ++thread_seed;
  return queue_work(
      *stream, {}, "kernel", !stream->operands,
      [launch = std::move(launch), order = thread_order, seed] { block_runner().run(launch, order, seed); });
}

cudaError_t queue_library_call(cudaStream_t stream, const char* what, std::vector<Touched> touched,
                               std::function<void()> work) {
  StreamState* s = stream_state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  for (const Touched& t : touched) {
    if (t.bytes <= 0) continue;
    if (!memory().on_device(t.address, static_cast<std::size_t>(t.bytes)))
      return result(cudaErrorInvalidValue);
    check_operands(*s, what, t);
  }
  return queue_work(*s, touched, what, !s->operands, std::move(work));
}

void name_next_operands(const char* name) {
  next_name = name;
}

void declare_operands(StreamState& stream, std::vector<Touched> ranges) {
  stream.operands = Operands{std::move(ranges), next_name.empty() ? "op" : next_name};
  next_name.clear();
  (void)queue_work(stream, stream.operands->ranges, stream.operands->name, true, {});
}

}  // namespace standin
