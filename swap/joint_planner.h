// Planner `joint`: order, placement, swaps and recompute together.
#pragma once

#include <swapadvisor/swap/joint_search.h>
#include <swapadvisor/swap/planner.h>

namespace swapadvisor {

/// See swap/joint_search.h. Never slower than `belady`, whose plans are among its seeds.
class JointPlanner final : public Planner {
 public:
  explicit JointPlanner(const JointOptions& options = {}) : options_(options) {}
  PlannerInfo info() const override;
  Program plan(const PlanRequest& request) const override;

 private:
  JointOptions options_;
};

}  // namespace swapadvisor
