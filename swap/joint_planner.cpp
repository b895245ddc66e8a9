#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/joint_planner.h>
#include <swapadvisor/swap/none.h>
#include <swapadvisor/swap/plan_builder.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace swapadvisor {
namespace {

constexpr const char* planner_name = "joint";
// Raise it when this planner may plan differently, also when a baseline that it takes over does.
constexpr int planner_version = 5;

constexpr const char* paper = "swapadvisor";

// Baselines, those that take the fewest walks first.
std::vector<std::string> baselines_by_cost() {
  std::vector<std::string> names{"checkpoint", "superneurons", "vdnn-all", "vdnn-conv"};
  for (const PlannerInfo& info : planner_list()) {
    const bool listed = std::find(names.begin(), names.end(), info.name) != names.end();
    if (!info.searches && info.name != "none" && !listed) names.push_back(info.name);
  }
  names.emplace_back(paper);
  return names;
}

// What the paper's search gets: as many evaluations, each of which takes a quarter of the time of one of
// `joint`, or a tenth of the time. Of a small graph thousands take nothing.
PlanRequest of_paper(const PlanRequest& request) {
  constexpr std::int64_t walked_ops = 400000;
  PlanRequest shorter = request;
  const auto ops = static_cast<std::int64_t>(request.graph->ops.size());
  if (request.search_evaluations > 0)
    shorter.search_evaluations =
        std::max(request.search_evaluations, walked_ops / std::max<std::int64_t>(1, ops));
  shorter.search_seconds = request.search_seconds / 10;
  shorter.progress = nullptr;  // it would tell of another search
  return shorter;
}

// A published rule, plain eviction or the paper's search can be lucky: never slower than any of them. In
// large graphs each takes seconds: they get as long as the search at most, when that has a clock.
void adopt_faster_baseline(const PlanRequest& request, Program& best) {
  constexpr std::size_t large = 20000;        // ops
  constexpr double nothing_to_gain = 0.9999;  // efficiency
  const SearchBudget clock(request);
  for (const std::string& name : baselines_by_cost()) {
    if (request.graph->ops.size() > large && clock.interrupted()) return;
    const bool any = !best.instructions.empty();
    if ((any && best.predicted.efficiency >= nothing_to_gain) || request.stop.stop_requested()) return;
    Program other;
    try {
      other = make_planner(name)->plan(name == paper ? of_paper(request) : request);
    } catch (const Error&) {
      continue;  // more host memory than allowed
    }
    if (any && other.predicted.iteration_seconds >= best.predicted.iteration_seconds) continue;
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
  std::string refusal;
  try {
    program = finish_program(planner_name, request, evaluator.instructions(), evaluator.flat(),
                             evaluator.residents());
  } catch (const Error& error) {
    refusal = error.what();  // host memory: what a baseline needs may be there
  }
  program.search = search.report();
  if (request.parts.all() && options_.baselines) adopt_faster_baseline(request, program);
  if (program.instructions.empty()) fail("{}", refusal);
  return program;
}

}  // namespace swapadvisor
