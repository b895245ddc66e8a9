#include <swapadvisor/core/error.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/swap/plan_builder.h>
#include <swapadvisor/swap/starts.h>

#include <algorithm>

namespace swapadvisor {

Program finish_program(const std::string& planner, const PlanRequest& request, const InstructionList& list,
                       const FlatProgram& waits, std::span<const Resident> residents) {
  Program program;
  program.planner = planner;
  program.seed = request.seed;
  program.graph = *request.graph;
  program.device = request.device;
  program.resident.assign(residents.begin(), residents.end());
  expand(list, waits, program);
  program.host_bytes = host_bytes_needed(program.graph, program.instructions);
  if (program.host_bytes > request.device.host_bytes)
    fail("planner {} needs {} of host memory for graph '{}', limit {}", planner,
         format_bytes(program.host_bytes), program.graph.name, format_bytes(request.device.host_bytes));
  program.arena_bytes = round_up(peak_bytes(program), arena_alignment);
  program.predicted = simulate(program);
  return program;
}

void check_host_minimum(const std::string& planner, const PlanRequest& request) {
  const std::int64_t needed = host_bytes_needed(*request.graph, {});
  if (needed > request.device.host_bytes)
    fail("planner {} needs at least {} of host memory for graph '{}', limit {}", planner, format_bytes(needed),
         request.graph->name, format_bytes(request.device.host_bytes));
}

double WalkEvaluator::evaluate(const WalkRequest& request) {
  walker_.walk(request);
  waits_.infer(walker_.instructions(), flat_);
  const double seconds = simulator_.iteration_seconds(flat_);
  ++evaluations_;
  if (seconds < best_seconds_) {
    best_seconds_ = seconds;
    best_list_ = walker_.instructions();
    best_waits_ = flat_;
    best_residents_.assign(walker_.residents().begin(), walker_.residents().end());
  }
  return seconds;
}

void walk_passes(WalkEvaluator& evaluator, std::span<const std::int32_t> order, const WalkPolicy& policy) {
  constexpr int most_passes = 4;
  Walker& walker = evaluator.walker();
  try_starts(
      walker, most_passes, true,
      [&](const std::vector<Resident>& start) {
        evaluator.evaluate({order, start, true, policy});
        return true;
      },
      [&](const std::vector<Resident>& start) {
        walker.walk({order, start, false, policy});
        return true;
      });
}

}  // namespace swapadvisor
