// The Program: the one instruction list that the planner emits, the simulator times, the verifier proves, the
// executor runs and the plan file stores ("plan v1" of the file formats).
#pragma once

#include <swapadvisor/core/plan_graph.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace swapadvisor {

/// A device as the planner and the simulator see it ("device v1"). Bandwidths in bytes per second.
struct DeviceSpec {
  static constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

  std::string name;
  std::int64_t memory_bytes = unbounded;
  std::int64_t host_bytes = unbounded;
  double h2d_bytes_per_second = 0;
  double d2h_bytes_per_second = 0;
  double duplex_bytes_per_second = 0;  ///< cap of both directions together
  double copy_latency_seconds = 0;
  double compute_slowdown_while_copying = 1;  ///< ≥ 1
};

/// Offsets in the arena are multiples of this.
inline constexpr std::int64_t arena_alignment = 256;
/// Host slots are rounded up to this.
inline constexpr std::int64_t page_bytes = 4096;

/// The smallest multiple of `multiple` that is at least `value`; both at least 0.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The three queues of a device: ops, copies to the device, copies to the host.
enum class StreamKind : std::uint8_t { compute, in, out };
/// Number of `StreamKind`s.
inline constexpr int stream_count = 3;

/// What an instruction does.
enum class InstructionKind : std::uint8_t { run, swap_in, swap_out };

/// The stream that runs instructions of a kind.
constexpr StreamKind stream_of(InstructionKind kind) {
  switch (kind) {
    case InstructionKind::run: return StreamKind::compute;
    case InstructionKind::swap_in: return StreamKind::in;
    case InstructionKind::swap_out: return StreamKind::out;
  }
  return StreamKind::compute;
}

/// Runs in list order on its stream (`stream_of(kind)`), after its waits.
struct Instruction {
  InstructionKind kind = InstructionKind::run;
  std::int32_t target = 0;  ///< op index for `run`, buffer index for copies
  /// `run`: one per input, then per output, then the workspace if the op has one. Copies: one, the buffer's.
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> wait;           ///< earlier instructions of this iteration
  std::vector<std::int32_t> wait_previous;  ///< instructions of the previous iteration

  StreamKind stream() const { return stream_of(kind); }
};

/// A persistent buffer on the device at every iteration boundary.
struct Resident {
  std::int32_t buffer = 0;
  std::int64_t offset = 0;
  bool dirty = true;  ///< false promises that the host copy equals it at every iteration boundary
};

/// Start and end of one instruction in one iteration, simulated or measured; seconds on one clock.
struct InstructionSpan {
  std::int64_t iteration = 0;
  std::int32_t instruction = 0;
  double start_seconds = 0;
  double end_seconds = 0;
};

/// What the simulator says of a Program.
struct Prediction {
  double iteration_seconds = 0;
  double ideal_seconds = 0;       ///< seconds of all ops once
  double bound_seconds = 0;       ///< lower bound for any plan of this graph
  double swap_bound_seconds = 0;  ///< lower bound for plans of this order without recompute
  double efficiency = 0;          ///< ideal ÷ iteration
  std::int64_t swap_in_bytes = 0;
  std::int64_t swap_out_bytes = 0;
  std::int64_t fallback_bytes = 0;  ///< moved by demand swapping where the planner's own rule could not fit
  double recompute_seconds = 0;
  std::int64_t peak_bytes = 0;  ///< highest arena address used
};

/// How a search went.
struct SearchReport {
  double seconds = 0;
  std::int64_t evaluations = 0;
  std::vector<std::pair<double, double>> history;  ///< (search seconds, best iteration seconds)
};

/// A plan: where persistent data starts, and what each stream runs (plan v1 of the file formats).
struct Program {
  std::string planner;
  std::uint64_t seed = 0;
  PlanGraph graph;
  DeviceSpec device;
  std::int64_t arena_bytes = 0;
  /// Host slots of all persistent and all swapped buffers (two for inputs and outputs), page-rounded.
  std::int64_t host_bytes = 0;
  std::vector<Resident> resident;
  std::vector<Instruction> instructions;
  Prediction predicted;
  SearchReport search;
};

/// Bytes of host slots that `program` needs: see `Program::host_bytes`.
std::int64_t host_bytes_needed(const PlanGraph& graph, const std::vector<Instruction>& instructions);

}  // namespace swapadvisor
