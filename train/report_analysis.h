// What a report tells of a plan: one steady iteration on the clock, why ops wait, who is where in device
// memory.
#pragma once

#include <swapadvisor/core/program.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace swapadvisor::report {

/// What a piece of device memory holds: a buffer by its kind, a value that was made again, or an op's
/// workspace.
enum class Occupant : std::uint8_t { parameter, state, input, output, temporary, recomputed, workspace };
inline constexpr std::size_t occupant_count = 7;

/// An instruction of an iteration; what the iteration is counted from stands where it is used.
struct Reference {
  std::int32_t instruction = 0;
  std::int32_t iteration = 0;

  bool operator==(const Reference&) const = default;
};

/// One execution of an instruction. Seconds from the begin of the shown iteration.
struct Span {
  std::int32_t instruction = 0;
  std::int32_t iteration = 0;  ///< counted from the shown one
  double begin = 0;
  double end = 0;
  /// What it waited for last, if its stream was idle meanwhile; counted from the span's iteration.
  std::optional<Reference> blocker;
};

/// Why the copy that an op waits for came so late.
enum class StallCause : std::uint8_t {
  link,        ///< it queued behind other copies
  dependency,  ///< it started as soon as it could: what it waited for itself was late
};

/// The compute stream is idle from `begin` to `end`. References count from the shown iteration.
struct Stall {
  std::int32_t instruction = 0;  ///< the run that waits, of the shown iteration
  double begin = 0;
  double end = 0;
  Reference blocker;
  StallCause cause = StallCause::dependency;
  std::int32_t queued = 0;        ///< copies that ran without a pause before the blocker
  double queue_begin = 0;         ///< when the first of them, or the blocker, started
  std::optional<Reference> root;  ///< what that one waited for
};

/// A buffer, or an op's workspace, in one place: from the start of the access that put it there to the end of
/// the last one that needs it there. References count from the shown iteration.
struct Stay {
  std::int32_t target = 0;  ///< buffer; for workspaces the op
  Occupant occupant = Occupant::temporary;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  double begin = 0;
  double end = 0;
  std::optional<Reference> placed_by;  ///< none: there from the start
  std::optional<Reference> taken_by;   ///< what used the place next
};

/// Bytes in use from `seconds` on.
struct MemoryStep {
  double seconds = 0;
  std::array<std::int64_t, occupant_count> bytes{};

  std::int64_t total() const;
};

/// Why an instruction is there; references count from the shown iteration.
struct Purpose {
  std::optional<Reference> taken_by;     ///< copies: what used the buffer's place next
  std::optional<Reference> next_reader;  ///< next run that reads the buffer (runs: an output) as it is now
  bool again = false;                    ///< a run of an op that ran before in this iteration
};

/// One iteration of the steady state, with what overlaps it.
struct Analysis {
  double seconds =
      0;  ///< the shown iteration: from the end of the last op before it to the end of its own last op
  double first = 0, last = 0;  ///< what is told of the time around it; first ≤ 0, last ≥ seconds
  std::array<std::vector<Span>, stream_count> spans;
  std::vector<Stall> stalls;  ///< by time
  std::vector<Stay> stays;    ///< cut to [first, last]
  std::vector<MemoryStep> memory;
  std::vector<Purpose> purposes;  ///< by instruction
};

/// `program` has indices in range. Throws `Error` when the device has no link speed. O(n log n). Pure.
Analysis analyse(const Program& program);

/// The parts of `analyse` that look at memory; times in simulated seconds, `shown` counts iterations from 0.
class Clock;
std::vector<Stay> find_stays(const Program& program, const Clock& clock, std::vector<Purpose>& purposes);
std::vector<MemoryStep> memory_steps(const std::vector<Stay>& stays);
/// Sets `next_reader` and `again`.
void find_readers(const Program& program, std::vector<Purpose>& purposes);

}  // namespace swapadvisor::report
