// Simulated iterations, with the shown one in the middle of the time axis. Internal to the report.
#pragma once

#include <swapadvisor/swap/simulate.h>

#include <algorithm>
#include <limits>

namespace swapadvisor::report {

/// Times of instructions in seconds from the begin of the shown iteration, which is 0; earlier ones are
/// negative.
class Clock {
 public:
  /// Of the simulator's iterations, in the part that it measures.
  static constexpr std::int32_t shown = Simulator::iterations / 2;
  static constexpr std::int32_t first_iteration = -shown;
  static constexpr std::int32_t last_iteration = Simulator::iterations - shown - 1;

  explicit Clock(const Program& program) : timeline_(simulate_timeline(program, Simulator::iterations)) {
    std::int32_t last_run = -1;
    for (std::size_t i = 0; i < program.instructions.size(); ++i)
      if (program.instructions[i].kind == InstructionKind::run) last_run = static_cast<std::int32_t>(i);
    if (last_run < 0) return;
    origin_ = timeline_.end[index(-1, last_run)];
    seconds_ = end(0, last_run);
  }

  double begin(std::int32_t iteration, std::int32_t i) const {
    return timeline_.start[index(iteration, i)] - origin_;
  }
  double end(std::int32_t iteration, std::int32_t i) const {
    return timeline_.end[index(iteration, i)] - origin_;
  }
  double seconds() const { return seconds_; }
  double start_of_time() const { return -origin_; }
  double end_of_time() const {
    double last = 0;
    for (double end : timeline_.end) last = std::max(last, end);
    return last - origin_;
  }

 private:
  std::size_t index(std::int32_t iteration, std::int32_t i) const {
    return static_cast<std::size_t>(iteration + shown) * static_cast<std::size_t>(timeline_.instructions) +
           static_cast<std::size_t>(i);
  }

  Timeline timeline_;
  double origin_ = 0, seconds_ = 0;
};

}  // namespace swapadvisor::report
