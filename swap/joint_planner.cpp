#include <swapadvisor/swap/joint_planner.h>
#include <swapadvisor/swap/none.h>
#include <swapadvisor/swap/plan_builder.h>

#include <utility>

namespace swapadvisor {
namespace {

constexpr const char* planner_name = "joint";
// Raise it when this planner may plan differently, also when a baseline that it takes over does.
constexpr int planner_version = 1;

// A published rule, or plain eviction, can be lucky: never slower than any of them.
void adopt_faster_baseline(const PlanRequest& request, Program& best) {
  constexpr std::size_t most_ops = 20000;     // each takes some walks
  constexpr double nothing_to_gain = 0.9999;  // efficiency
  if (request.graph->ops.size() > most_ops) return;
  for (const PlannerInfo& info : planner_list()) {
    if (best.predicted.efficiency >= nothing_to_gain || request.stop.stop_requested()) return;
    if (info.searches || info.name == "none") continue;
    Program other = make_planner(info.name)->plan(request);
    if (other.predicted.iteration_seconds >= best.predicted.iteration_seconds) continue;
    other.planner = planner_name;
    other.seed = request.seed;
    other.search = std::move(best.search);
    other.search.history.emplace_back(other.search.seconds, other.predicted.iteration_seconds);
    other.predicted.fallback_bytes = 0;
    best = std::move(other);
  }
}

}  // namespace

PlannerInfo JointPlanner::info() const {
  return {planner_name, "searches order, exact placement, swaps and recompute together", true,
          planner_version};
}

Program JointPlanner::plan(const PlanRequest& request) const {
  Program program;
  if (plan_without_swaps(request, planner_name, program)) return program;
  check_host_minimum(planner_name, request);
  const OpTable table(*request.graph);
  JointSearch search(table, request, options_);
  search.run();
  JointCandidate best = search.best();
  JointEvaluator& evaluator = search.evaluator();
  evaluator.evaluate(best);
  program = finish_program(planner_name, request, evaluator.instructions(), evaluator.flat(), evaluator.residents());
  program.search = search.report();
  if (request.parts.all()) adopt_faster_baseline(request, program);
  return program;
}

}  // namespace swapadvisor
