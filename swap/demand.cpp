#include <swapadvisor/swap/demand.h>
#include <swapadvisor/swap/none.h>
#include <swapadvisor/swap/plan_builder.h>

#include <array>

namespace swapadvisor {
namespace {

Program plan_by_walks(const PlanRequest& request, const std::string& name,
                      std::span<const WalkPolicy> policies) {
  Program program;
  if (plan_without_swaps(request, name, program)) return program;
  const OpTable table(*request.graph);
  WalkEvaluator evaluator(table, request.device);
  const std::vector<std::int32_t> order = given_order(*request.graph);
  for (const WalkPolicy& policy : policies) walk_passes(evaluator, order, policy);
  return evaluator.best_program(name, request);
}

}  // namespace

PlannerInfo LruPlanner::info() const {
  return {"lru", "swaps on demand in the given order, evicting the least recently used", false};
}

Program LruPlanner::plan(const PlanRequest& request) const {
  WalkPolicy policy;
  policy.eviction = WalkPolicy::Eviction::lru;
  policy.on_demand = true;
  return plan_by_walks(request, "lru", {&policy, 1});
}

PlannerInfo BeladyPlanner::info() const {
  return {"belady", "given order, exact offsets, evicts the furthest next use, prefetches; no search", false};
}

Program BeladyPlanner::plan(const PlanRequest& request) const {
  // How much a stall should count depends on how busy the link is: a few weights, the fastest plan stays.
  std::array<WalkPolicy, 3> policies;
  policies[0].stall_weight = 3;
  policies[2].stall_weight = 100;
  return plan_by_walks(request, "belady", policies);
}

}  // namespace swapadvisor
