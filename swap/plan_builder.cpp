#include <swapadvisor/core/error.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/swap/plan_builder.h>

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
  const auto same = [](std::span<const Resident> a, std::span<const Resident> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Resident& x, const Resident& y) {
      return x.buffer == y.buffer && x.offset == y.offset && x.dirty == y.dirty;
    });
  };
  const auto by_offset = [](const Resident& a, const Resident& b) { return a.offset < b.offset; };
  evaluator.evaluate({order, {}, true, policy});
  const std::vector<Resident> first(walker.residents_at_last_op().begin(),
                                    walker.residents_at_last_op().end());

  // From where the first pass ended: keep ending there, or keep only what needs no moving.
  std::vector<Resident> start = first, next;
  for (int pass = 0; pass < most_passes && !start.empty(); ++pass) {
    evaluator.evaluate({order, start, true, policy});
    next.assign(walker.residents_worth_keeping().begin(), walker.residents_worth_keeping().end());
    std::sort(next.begin(), next.end(), by_offset);
    if (same(start, next)) break;
    start = next;
  }
  // Or follow where the walk itself ends, hoping that it settles.
  start = first;
  for (int pass = 0; pass < most_passes && !start.empty(); ++pass) {
    walker.walk({order, start, false, policy});
    next.assign(walker.residents_at_last_op().begin(), walker.residents_at_last_op().end());
    if (same(start, next)) break;
    start = next;
    evaluator.evaluate({order, start, true, policy});
  }
}

}  // namespace swapadvisor
