// The control of the stand-in, for tests.
#include <standin/standin.h>

#include "launches.h"
#include "memory.h"

using namespace standin;

extern "C" {

void standin_configure(int schedule, int threads, std::uint32_t seed) {
  scheduler().configure(static_cast<StandinSchedule>(schedule), seed);
  hazards().host_waited_for_all();
  set_thread_order(threads, seed);
}

void standin_operands(void* stream, const void* const* reads, const std::int64_t* read_bytes, int read_count,
                      void* const* writes, const std::int64_t* write_bytes, int write_count) {
  StreamState* s = stream_state(static_cast<cudaStream_t>(stream));
  if (!s) return hazards().report("operands were declared for what is no stream");
  std::vector<Touched> ranges;
  for (int i = 0; i < read_count; ++i) ranges.push_back({reads[i], read_bytes[i], false});
  for (int i = 0; i < write_count; ++i) ranges.push_back({writes[i], write_bytes[i], true});
  declare_operands(*s, std::move(ranges));
}

void standin_end_operands(void* stream) {
  if (StreamState* s = stream_state(static_cast<cudaStream_t>(stream))) s->operands.reset();
}

void standin_name(const char* name) {
  name_next_operands(name);
}

void standin_call(void* stream, void (*function)(void*), void* argument) {
  (void)queue_library_call(static_cast<cudaStream_t>(stream), "call", {}, [=] { function(argument); });
}

void standin_host_access(const void* address, std::int64_t bytes, int written) {
  const Touched touched{address, bytes, written != 0};
  hazards().work(0, {&touched, 1}, "host");
}

int standin_faults() {
  return static_cast<int>(hazards().count());
}

const char* standin_fault(int i) {
  const auto& sentences = hazards().sentences();
  return i >= 0 && static_cast<std::size_t>(i) < sentences.size()
             ? sentences[static_cast<std::size_t>(i)].c_str()
             : nullptr;
}

void standin_clear_faults() {
  hazards().clear();
}

void standin_set_memory(std::int64_t device_bytes, std::int64_t pinned_bytes) {
  memory().set_limits(device_bytes, pinned_bytes);
}

std::int64_t standin_device_bytes() {
  return static_cast<std::int64_t>(memory().used());
}
std::int64_t standin_pinned_bytes() {
  return static_cast<std::int64_t>(memory().pinned());
}
void standin_set_driver(int present) {
  set_driver(present != 0);
}
std::int64_t standin_queued() {
  return scheduler().queued();
}
std::int64_t standin_run() {
  return scheduler().run();
}
}
