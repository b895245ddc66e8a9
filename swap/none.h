// Planner `none`: everything stays on the device; the ideal that the others are measured against.
#pragma once

#include <swapadvisor/swap/planner.h>

namespace swapadvisor {

/// Persistent buffers keep fixed addresses, temporaries are placed by their live ranges in the graph's own
/// order. Inputs are swapped in, outputs swapped out, each in its own place so that both overlap with
/// computing.
class NonePlanner : public Planner {
 public:
  PlannerInfo info() const override;
  /// Throws `Error` with need and limit when the arena exceeds the limit.
  Program plan(const PlanRequest& request) const override;
};

/// True, and `program` filled in under the name `planner`, when the graph fits without any swap of
/// temporaries.
bool plan_without_swaps(const PlanRequest& request, const std::string& planner, Program& program);

}  // namespace swapadvisor
