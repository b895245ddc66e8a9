// Planner `joint`: order, placement, swaps and recompute together.
#pragma once

#include <swapadvisor/swap/joint_search.h>
#include <swapadvisor/swap/planner.h>

namespace swapadvisor {

/// See swap/joint_search.h. Never slower than a planner that does not search: `belady`'s plans are among the
/// seeds, and a faster plan of another is taken over; beyond 20,000 ops a budget in seconds limits for how
/// long that is tried.
class JointPlanner final : public Planner {
 public:
  explicit JointPlanner(const JointOptions& options = {}) : options_(options) {}
  PlannerInfo info() const override;
  Program plan(const PlanRequest& request) const override;

 private:
  JointOptions options_;
};

}  // namespace swapadvisor
