#include <swapadvisor/swap/joint_planner.h>
#include <swapadvisor/swap/none.h>
#include <swapadvisor/swap/plan_builder.h>

namespace swapadvisor {
namespace {

constexpr const char* planner_name = "joint";

}  // namespace

PlannerInfo JointPlanner::info() const {
  return {planner_name, "searches order, exact placement, swaps and recompute together", true};
}

Program JointPlanner::plan(const PlanRequest& request) const {
  Program program;
  if (plan_without_swaps(request, planner_name, program)) return program;
  const OpTable table(*request.graph);
  JointSearch search(table, request, options_);
  search.run();
  JointEvaluator evaluator(table, request.device);
  JointCandidate best = search.best();
  evaluator.evaluate(best);
  program = finish_program(planner_name, request, evaluator.walker().instructions(), evaluator.flat(),
                           evaluator.walker().residents());
  program.search = search.report();
  return program;
}

}  // namespace swapadvisor
