// Captured iterations (CUDA graphs) as another schedule of a Program: cheaper launches, a barrier between
// iterations.
#pragma once

#include <swapadvisor/core/capture.h>
#include <swapadvisor/core/program.h>

#include <string>

namespace swapadvisor {

/// What starting work costs on a device, in seconds.
struct LaunchCosts {
  double stream_seconds = 0;  ///< of one op or copy that the host queues on a stream, with its event
  double node_seconds = 0;    ///< of one op or copy of captured work
  double launch_seconds = 0;  ///< of launching captured work, beside its nodes
};

/// Measures the three with work that does next to nothing; medians. Uses the first bytes of the arena;
/// nothing else may be running. `device` and `capture` are one device.
LaunchCosts measure_launch_costs(Device& device, Capture& capture);

/// The same instructions with a barrier between iterations, in place of all other waits for the previous
/// iteration: what captured iterations come to, launched one after the other.
Program with_barrier(Program program);

/// A Program's iteration both ways, in seconds, as simulated.
struct CapturedPrediction {
  double stream_seconds = 0;    ///< from the streams
  double barrier_seconds = 0;   ///< the same with a barrier between iterations
  double captured_seconds = 0;  ///< captured: with the barrier, and the costs of captured work

  bool faster() const { return captured_seconds < stream_seconds; }
};

/// Measured seconds of an op or a copy contain one launch from a stream; in captured work that costs
/// `node_seconds` instead, and no instruction takes less than that. From the streams, an iteration cannot be
/// shorter than the host takes to queue it. `program` as for `simulate`.
CapturedPrediction predict_captured(const Program& program, const LaunchCosts& costs);

/// What was chosen, and why: "CUDA graph used: predicted 1.20 ms a step, against 1.35 ms from the streams …".
std::string describe(const CapturedPrediction& prediction, const LaunchCosts& costs);

}  // namespace swapadvisor
