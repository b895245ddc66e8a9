// Control of the CPU stand-in of the CUDA runtime, for tests. The functions are `extern "C"` so that a test
// can look them up in the library that it opened. They are for the host thread that drives the device.
#pragma once

#include <cstdint>

extern "C" {

/// When queued work runs: `at_once` as soon as nothing it waits for is left; `late` only when the host waits,
/// and then no more than needed; `random` some at every call; `threads`: one host thread per stream, with
/// random delays.
enum StandinSchedule { standin_at_once = 0, standin_late = 1, standin_random = 2, standin_threads = 3 };
/// In which order the threads of a block run between barriers.
enum StandinThreads { standin_forward = 0, standin_reversed = 1, standin_shuffled = 2 };

/// Both at once, and the seed of everything random. Waits for all streams first.
void standin_configure(int schedule, int threads, std::uint32_t seed);

/// What the next launches and library calls on this stream, until `standin_end_operands`, may read and write,
/// in bytes; a pointer argument outside of it, a write of what is only read, or a launch on another stream is
/// a fault. Together they count as one access of all of it for the hazard checker.
void standin_operands(void* stream, const void* const* reads, const std::int64_t* read_bytes, int read_count,
                      void* const* writes, const std::int64_t* write_bytes, int write_count);
void standin_end_operands(void* stream);
/// Names what the next `standin_operands` on any stream declares, in faults.
void standin_name(const char* name);

/// Queues `function(argument)` on the stream: it runs in stream order on the host, and may touch device
/// memory.
void standin_call(void* stream, void (*function)(void*), void* argument);
/// The host itself reads or writes host memory that copies use, now.
void standin_host_access(const void* address, std::int64_t bytes, int written);

/// Conflicting accesses that no event, stream order or host wait puts in order, and pointers outside of
/// declared operands, since the last call of `standin_clear_faults`.
int standin_faults();
/// The sentence of fault `i`, valid until the next call into the stand-in; the first thousand are kept, else
/// null.
const char* standin_fault(int i);
void standin_clear_faults();

/// Bytes of device memory and of memory that can be pinned; −1: as at the start (the environment variables
/// SWAPADVISOR_STANDIN_MEMORY and SWAPADVISOR_STANDIN_PINNED; without them 1 GiB and no limit).
void standin_set_memory(std::int64_t device_bytes, std::int64_t pinned_bytes);
/// Bytes that are allocated now.
std::int64_t standin_device_bytes();
std::int64_t standin_pinned_bytes();
/// 0: as on a machine without a driver.
void standin_set_driver(int present);
/// Pieces of work queued so far, waits and records not counted, and of those how many have run.
std::int64_t standin_queued();
std::int64_t standin_run();
}
