// Planners `lru` and `belady`: the given order, exact offsets, swapping decided by one rule, no search.
#pragma once

#include <swapadvisor/swap/planner.h>

namespace swapadvisor {

/// On-demand swapping: evicts the least recently used when an op needs room, copies at that moment.
class LruPlanner : public Planner {
 public:
  PlannerInfo info() const override;
  Program plan(const PlanRequest& request) const override;
};

/// Evicts what is needed furthest ahead (Belady), swaps out early, prefetches.
class BeladyPlanner : public Planner {
 public:
  PlannerInfo info() const override;
  Program plan(const PlanRequest& request) const override;
};

}  // namespace swapadvisor
