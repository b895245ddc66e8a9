#include <swapadvisor/swap/demand.h>
#include <swapadvisor/swap/genetic_search.h>
#include <swapadvisor/swap/none.h>
#include <swapadvisor/swap/plan_builder.h>
#include <swapadvisor/swap/swapadvisor_planner.h>

namespace swapadvisor {
namespace {

constexpr const char* planner_name = "swapadvisor";
// Raise it when this planner, or the demand swapping it falls back to, may plan differently.
constexpr int planner_version = 1;

Program plan_by_demand(const PlanRequest& request) {
  Program program = BeladyPlanner().plan(request);
  program.planner = planner_name;
  program.predicted.fallback_bytes = program.predicted.swap_in_bytes + program.predicted.swap_out_bytes;
  return program;
}

}  // namespace

PlannerInfo SwapAdvisorPlanner::info() const {
  return {planner_name,
          "the ASPLOS 2020 method: genetic search over order and size classes, Belady within classes", true,
          planner_version};
}

Program SwapAdvisorPlanner::plan(const PlanRequest& request) const {
  Program program;
  if (plan_without_swaps(request, planner_name, program)) return program;
  check_host_minimum(planner_name, request);
  const PoolDemand demand(*request.graph);
  if (pool_bytes(demand, smallest_pool(demand)) > request.device.memory_bytes) return plan_by_demand(request);

  const SearchProblem problem(request);
  GeneticSearch search(problem);
  search.run();
  PoolEvaluator evaluator(problem);
  PoolWalker& walker = evaluator.walker();
  walker.set_order(search.best().order);
  walker.walk(search.best().pool, true);
  FlatProgram flat;
  WaitInference(problem.table).infer(walker.instructions(), flat);
  program = finish_program(planner_name, request, walker.instructions(), flat, walker.residents());
  program.search = search.report();
  return program;
}

}  // namespace swapadvisor
