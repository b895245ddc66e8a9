// What planners share: from an instruction list to a complete Program.
#pragma once

#include <swapadvisor/swap/dependencies.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/waits.h>
#include <swapadvisor/swap/walk.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace swapadvisor {

/// Copies list, waits and residents into a Program, fills in its sizes and prediction. Throws `Error` when
/// the host slots exceed the host limit.
Program finish_program(const std::string& planner, const PlanRequest& request, const InstructionList& list,
                       const FlatProgram& waits, std::span<const Resident> residents);

/// Throws `Error` when the host slots that every plan needs (persistent buffers, inputs, outputs) exceed the host limit:
/// before a search, not after it.
void check_host_minimum(const std::string& planner, const PlanRequest& request);

/// Closed walks, timed by the simulator; remembers the fastest. One per thread.
class WalkEvaluator {
 public:
  WalkEvaluator(const OpTable& table, const DeviceSpec& device)
      : walker_(table, device), waits_(table), simulator_(device) {}

  Walker& walker() { return walker_; }

  /// Simulated seconds of one iteration.
  double evaluate(const WalkRequest& request);

  bool any() const { return best_seconds_ < std::numeric_limits<double>::infinity(); }
  double best_seconds() const { return best_seconds_; }
  std::int64_t evaluations() const { return evaluations_; }
  Program best_program(const std::string& planner, const PlanRequest& request) const {
    return finish_program(planner, request, best_list_, best_waits_, best_residents_);
  }

 private:
  Walker walker_;
  WaitInference waits_;
  Simulator simulator_;
  FlatProgram flat_;
  std::int64_t evaluations_ = 0;
  double best_seconds_ = std::numeric_limits<double>::infinity();
  InstructionList best_list_;
  FlatProgram best_waits_;
  std::vector<Resident> best_residents_;
};

/// Persistent buffers stay where they are through the iteration boundary, which takes two passes at least:
/// what the first, starting with nothing resident, ends with is the start of the second. Walks the variants
/// (all of that set, what of it stayed at its place, nothing at all) and leaves the fastest in `evaluator`.
void walk_passes(WalkEvaluator& evaluator, std::span<const std::int32_t> order, const WalkPolicy& policy);

}  // namespace swapadvisor
