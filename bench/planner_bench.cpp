// How long a planner needs to evaluate one candidate: walk, waits, simulation. The goal is less than a
// millisecond per 1,000 ops on one core, at a limit that makes the walk swap.
#include <benchmark/benchmark.h>
#include <swapadvisor/swap/genetic_search.h>
#include <swapadvisor/swap/plan_builder.h>
#include <swapadvisor/swap/verify.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace swapadvisor {
namespace {

/// A bottleneck ResNet of 50 × `blocks` / 16 layers as a training graph: convolution, batch norm, ReLU,
/// residual sums, their gradients, momentum SGD.
class ResidualNetwork {
 public:
  explicit ResidualNetwork(std::int64_t blocks, std::int64_t batch) : batch_(batch) {
    graph_.name = "bench-resnet";
    const std::int32_t image = buffer("image", batch * 3 * 224 * 224 * 4, BufferKind::input);
    std::int32_t x = layer(image, 3, 64, 7, 112, false);
    std::int64_t channels = 64;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t stage = block * 4 / blocks;
      const std::int64_t width = std::int64_t{64} << stage, side = std::int64_t{56} >> stage;
      std::int32_t y = layer(x, channels, width, 1, side, true);
      y = layer(y, width, width, 3, side, true);
      y = layer(y, width, width * 4, 1, side, true);
      channels = width * 4;
      x = relu(y, channels, side);
    }
    const std::int32_t loss = buffer("loss", 4, BufferKind::output);
    std::int32_t gradient = buffer("g", bytes_of(x), BufferKind::temporary);
    op("loss", {x}, {loss, gradient}, 1e-4);
    while (!backward_.empty()) {
      gradient = backward_.back()(gradient);
      backward_.pop_back();
    }
    for (const auto& update : updates_)
      op("sgd", {update[0], update[1], update[2]}, {update[0], update[1]}, 1e-5);
    check(graph_);
  }

  PlanGraph take() { return std::move(graph_); }

 private:
  std::int64_t bytes_of(std::int32_t b) const { return graph_.buffers[static_cast<std::size_t>(b)].bytes; }

  std::int32_t buffer(const std::string& name, std::int64_t bytes, BufferKind kind) {
    graph_.buffers.push_back({name + std::to_string(graph_.buffers.size()), bytes, kind});
    return static_cast<std::int32_t>(graph_.buffers.size()) - 1;
  }

  void op(const std::string& type, std::vector<std::int32_t> in, std::vector<std::int32_t> out,
          double seconds) {
    graph_.ops.push_back({type + std::to_string(graph_.ops.size()), type, std::move(in), std::move(out), 0,
                          seconds, true, false});
  }

  std::int32_t parameter(std::int64_t bytes, std::int32_t& gradient) {
    const std::int32_t p = buffer("p", bytes, BufferKind::parameter);
    gradient = buffer("dp", bytes, BufferKind::temporary);
    updates_.push_back({p, buffer("m", bytes, BufferKind::state), gradient});
    return p;
  }

  std::int32_t layer(std::int32_t x, std::int64_t in, std::int64_t out, std::int64_t kernel,
                     std::int64_t side, bool input_gradient) {
    const std::int64_t bytes = batch_ * out * side * side * 4;
    const double seconds = static_cast<double>(batch_ * out * side * side * in * kernel * kernel) * 2 / 12e12;
    std::int32_t dw = 0, ds = 0;
    const std::int32_t w = parameter(in * out * kernel * kernel * 4, dw);
    const std::int32_t scale = parameter(out * 8, ds);
    const std::int32_t y = buffer("y", bytes, BufferKind::temporary);
    const std::int32_t z = buffer("z", bytes, BufferKind::temporary);
    const std::int32_t mean = buffer("mean", out * 8, BufferKind::temporary);
    op("conv", {x, w}, {y}, seconds);
    op("bn", {y, scale}, {z, mean}, static_cast<double>(bytes) * 3 / 7e11);
    backward_.push_back([=, this](std::int32_t dz) {
      const std::int32_t dy = buffer("dy", bytes, BufferKind::temporary);
      op("bn_backward", {y, scale, mean, dz}, {dy, ds}, static_cast<double>(bytes) * 5 / 7e11);
      op("conv_backward_weight", {x, dy}, {dw}, seconds);
      if (!input_gradient) return dz;
      const std::int32_t dx = buffer("dx", bytes_of(x), BufferKind::temporary);
      op("conv_backward_data", {w, dy}, {dx}, seconds);
      return dx;
    });
    return relu(z, out, side);
  }

  std::int32_t relu(std::int32_t z, std::int64_t out, std::int64_t side) {
    const std::int64_t bytes = batch_ * out * side * side * 4;
    const std::int32_t a = buffer("a", bytes, BufferKind::temporary);
    op("relu", {z}, {a}, static_cast<double>(bytes) * 2 / 7e11);
    backward_.push_back([=, this](std::int32_t da) {
      const std::int32_t dz = buffer("dz", bytes, BufferKind::temporary);
      op("relu_backward", {a, da}, {dz}, static_cast<double>(bytes) * 3 / 7e11);
      return dz;
    });
    return a;
  }

  std::int64_t batch_;
  PlanGraph graph_;
  std::vector<std::function<std::int32_t(std::int32_t)>> backward_;
  std::vector<std::array<std::int32_t, 3>> updates_;
};

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
      : graph(ResidualNetwork(blocks, 64).take()),
        table(graph),
        device(v100(device_bytes_needed(graph) / 4)),
        order(given_order(graph)),
        walker(table, device),
        waits(table),
        simulator(device) {
    walker.walk({order, {}, false, {}});
    start.assign(walker.residents_at_last_op().begin(), walker.residents_at_last_op().end());
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
  for (auto _ : state) {
    candidate.walker.forget_order();  // in a search every candidate has its own
    candidate.walker.walk({candidate.order, candidate.start, true, {}});
    candidate.waits.infer(candidate.walker.instructions(), candidate.flat);
    benchmark::DoNotOptimize(candidate.simulator.iteration_seconds(candidate.flat));
  }
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

// 50 blocks: ResNet-152; 150: several thousand ops.
BENCHMARK(evaluate_candidate)->Arg(50)->Arg(150)->Unit(benchmark::kMicrosecond);
BENCHMARK(walk_only)->Arg(50)->Unit(benchmark::kMicrosecond);
BENCHMARK(waits_only)->Arg(50)->Unit(benchmark::kMicrosecond);
BENCHMARK(simulation_only)->Arg(50)->Unit(benchmark::kMicrosecond);

/// Candidates of the genetic search, each with its own order and pool.
struct PoolCandidates {
  explicit PoolCandidates(std::int64_t blocks) : graph(ResidualNetwork(blocks, 64).take()) {
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
  const PlanGraph graph = ResidualNetwork(state.range(0), 64).take();
  PlanRequest request;
  request.graph = &graph;
  request.device = v100(device_bytes_needed(graph) / 4);
  for (auto _ : state)
    benchmark::DoNotOptimize(make_planner("belady")->plan(request).predicted.iteration_seconds);
}
BENCHMARK(belady_plan)->Arg(50)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace swapadvisor
