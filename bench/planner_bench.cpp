// How long a planner needs to evaluate one candidate: walk, waits, simulation. The goal is less than a
// millisecond per 1,000 ops on one core, at a limit that makes the walk swap.
#include <benchmark/benchmark.h>
#include <swapadvisor/swap/genetic_search.h>
#include <swapadvisor/swap/plan_builder.h>
#include <swapadvisor/swap/verify.h>

#include <memory>
#include <string>
#include <utility>

#include "training_graphs.h"

namespace swapadvisor {
namespace {

DeviceSpec v100(std::int64_t memory) {
  DeviceSpec device;
  device.name = "v100";
  device.memory_bytes = memory;
  device.h2d_bytes_per_second = device.d2h_bytes_per_second = 12e9;
  device.duplex_bytes_per_second = 20e9;
  device.copy_latency_seconds = 1e-5;
  return device;
}

/// A candidate evaluation as a search makes it: from the residents of the parent, a fresh order each time.
struct Candidate {
  explicit Candidate(std::int64_t blocks)
      : graph(bench::residual_network(blocks, 64)),
        table(graph),
        device(v100(device_bytes_needed(graph) / 4)),
        order(given_order(graph)),
        walker(table, device),
        waits(table),
        simulator(device) {
    walker.walk({order, {}, false, {}});
    start.assign(walker.residents_at_last_op().begin(), walker.residents_at_last_op().end());
  }

  void evaluate() {
    walker.forget_order();  // in a search every candidate has its own
    walker.walk({order, start, true, {}});
    waits.infer(walker.instructions(), flat);
    benchmark::DoNotOptimize(simulator.iteration_seconds(flat));
  }

  void report(benchmark::State& state) const {
    state.counters["ops"] = static_cast<double>(graph.ops.size());
    state.counters["instructions"] = static_cast<double>(walker.instructions().entries.size());
    state.counters["per_1000_ops"] =
        benchmark::Counter(static_cast<double>(graph.ops.size()) / 1000,
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  }

  PlanGraph graph;
  OpTable table;
  DeviceSpec device;
  std::vector<std::int32_t> order;
  Walker walker;
  WaitInference waits;
  Simulator simulator;
  FlatProgram flat;
  std::vector<Resident> start;
};

void evaluate_candidate(benchmark::State& state) {
  Candidate candidate(state.range(0));
  for (auto _ : state) candidate.evaluate();
  candidate.report(state);
}

void walk_only(benchmark::State& state) {
  Candidate candidate(state.range(0));
  for (auto _ : state) {
    candidate.walker.forget_order();
    candidate.walker.walk({candidate.order, candidate.start, true, {}});
  }
  candidate.report(state);
}

void waits_only(benchmark::State& state) {
  Candidate candidate(state.range(0));
  candidate.walker.walk({candidate.order, candidate.start, true, {}});
  for (auto _ : state) candidate.waits.infer(candidate.walker.instructions(), candidate.flat);
  candidate.report(state);
}

void simulation_only(benchmark::State& state) {
  Candidate candidate(state.range(0));
  candidate.walker.walk({candidate.order, candidate.start, true, {}});
  candidate.waits.infer(candidate.walker.instructions(), candidate.flat);
  for (auto _ : state) benchmark::DoNotOptimize(candidate.simulator.iteration_seconds(candidate.flat));
  candidate.report(state);
}

/// The same by ops, to see how it grows.
void evaluate_candidate_of_ops(benchmark::State& state) {
  Candidate candidate(state.range(0) / 29);
  for (auto _ : state) candidate.evaluate();
  state.SetComplexityN(std::ssize(candidate.graph.ops));
  candidate.report(state);
}

// 50 blocks: ResNet-152; 150: several thousand ops.
BENCHMARK(evaluate_candidate)->Arg(50)->Arg(150)->Unit(benchmark::kMicrosecond);
BENCHMARK(evaluate_candidate_of_ops)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(50000)
    ->Complexity(benchmark::oN)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(walk_only)->Arg(50)->Unit(benchmark::kMicrosecond);
BENCHMARK(waits_only)->Arg(50)->Unit(benchmark::kMicrosecond);
BENCHMARK(simulation_only)->Arg(50)->Unit(benchmark::kMicrosecond);

/// Candidates of the genetic search, each with its own order and pool.
struct PoolCandidates {
  explicit PoolCandidates(std::int64_t blocks) : graph(bench::residual_network(blocks, 64)) {
    request.graph = &graph;
    request.device = v100(device_bytes_needed(graph) / 4);
    problem = std::make_unique<SearchProblem>(request);
    evaluator = std::make_unique<PoolEvaluator>(*problem);
    for (std::uint32_t k = 0; k < 16; ++k) {
      Draws draws({1, k, 0});
      Genome& genome = genomes.emplace_back();
      evaluator->mutation().apply(problem->natural_orders[k % 2], 0.01, draws, genome.order);
      genome.pool = problem->operators.make(std::vector<bool>(problem->demand.size_count(), true), 2, draws);
    }
  }

  PlanGraph graph;
  PlanRequest request;
  std::unique_ptr<SearchProblem> problem;
  std::unique_ptr<PoolEvaluator> evaluator;
  std::vector<Genome> genomes;
};

// Swap plan and fitness of one candidate.
void evaluate_pool_candidate(benchmark::State& state) {
  PoolCandidates candidates(state.range(0));
  std::size_t next = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        candidates.evaluator->estimate(candidates.genomes[next++ % candidates.genomes.size()]));
  state.counters["ops"] = static_cast<double>(candidates.graph.ops.size());
  state.counters["evaluations_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(evaluate_pool_candidate)->Arg(34)->Arg(50)->Arg(150)->Unit(benchmark::kMicrosecond);

// The same with everything around it: parents, crossover, mutation, sorting.
void genetic_search(benchmark::State& state) {
  PoolCandidates candidates(state.range(0));
  candidates.request.search_evaluations = 1000;
  std::int64_t evaluations = 0;
  for (auto _ : state) {
    GeneticSearch search(*candidates.problem);
    search.run();
    evaluations += search.report().evaluations;
  }
  state.counters["ops"] = static_cast<double>(candidates.graph.ops.size());
  state.counters["evaluations_per_second"] =
      benchmark::Counter(static_cast<double>(evaluations), benchmark::Counter::kIsRate);
}
BENCHMARK(genetic_search)->Arg(34)->Unit(benchmark::kMillisecond);

void belady_plan(benchmark::State& state) {
  const PlanGraph graph = bench::residual_network(state.range(0), 64);
  PlanRequest request;
  request.graph = &graph;
  request.device = v100(device_bytes_needed(graph) / 4);
  for (auto _ : state)
    benchmark::DoNotOptimize(make_planner("belady")->plan(request).predicted.iteration_seconds);
}
BENCHMARK(belady_plan)->Arg(50)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace swapadvisor
