// Planner `swapadvisor`: the paper's method.
#pragma once

#include <swapadvisor/swap/planner.h>

namespace swapadvisor {

/// Genetic search over schedule and size-class pool, two-pass Belady within classes (SwapAdvisor, ASPLOS
/// 2020). Where the smallest pool that holds every op exceeds the limit, the plan is that of `belady` (exact
/// offsets), and its copies are counted in `fallback_bytes`.
class SwapAdvisorPlanner final : public Planner {
 public:
  PlannerInfo info() const override;
  Program plan(const PlanRequest& request) const override;
};

}  // namespace swapadvisor
