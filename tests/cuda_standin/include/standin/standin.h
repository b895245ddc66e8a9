// Control of the CPU stand-in of the CUDA runtime, for tests. The functions are `extern "C"` so that a test
// can look them up in the library that it opened.
#pragma once

#include <cstdint>

extern "C" {

/// When queued work runs: `at_once` as soon as nothing it waits for is left; `late` only when the host waits,
/// and then no more than needed; `random` some at every call; `threads`: one host thread per stream, with
/// random delays.
enum StandinSchedule { standin_at_once = 0, standin_late = 1, standin_random = 2, standin_threads = 3 };
/// In which order the threads of a block run between barriers.
enum StandinThreads { standin_forward = 0, standin_reversed = 1, standin_shuffled = 2 };

/// Both at once, and the seed of everything random. All streams must be idle.
void standin_configure(int schedule, int threads, std::uint32_t seed);

/// What the next launches and library calls on this stream, until `standin_end_operands`, may read and write,
/// in bytes; a pointer argument outside of it is a fault. Together they count as one access for the hazard
/// checker.
void standin_operands(void* stream, const void* const* reads, const std::int64_t* read_bytes, int read_count,
                      void* const* writes, const std::int64_t* write_bytes, int write_count);
void standin_end_operands(void* stream);

/// Conflicting accesses that no event, stream order or host wait puts in order, and pointers outside of
/// declared operands, since the last call of `standin_clear_faults`.
int standin_faults();
/// The sentence of fault `i`, valid until the next call into the stand-in.
const char* standin_fault(int i);
void standin_clear_faults();
}
