#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/affinity_order.h>
#include <swapadvisor/swap/bounds.h>
#include <swapadvisor/swap/joint_planner.h>
#include <swapadvisor/swap/verify.h>

#include <vector>

namespace swapadvisor {
namespace {

/// A recurrent net: `layers` weights, each used in `steps` time steps; the given order goes step by step.
PlanGraph recurrent(int layers, int steps, std::int64_t weight_bytes) {
  PlanGraph graph;
  const auto buffer = [&](const std::string& name, std::int64_t bytes, BufferKind kind) {
    graph.buffers.push_back({name, bytes, kind});
    return static_cast<std::int32_t>(graph.buffers.size()) - 1;
  };
  std::vector<std::int32_t> weights, below;
  for (int l = 0; l < layers; ++l)
    weights.push_back(buffer(fmt::format("w{}", l), weight_bytes, BufferKind::parameter));
  for (int t = 0; t < steps; ++t) below.push_back(buffer(fmt::format("x{}", t), 256, BufferKind::input));
  std::vector<std::vector<std::int32_t>> h(static_cast<std::size_t>(layers) + 1, below);
  for (auto& row : h) row.resize(static_cast<std::size_t>(steps));
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t)
    for (std::size_t l = 0; l < static_cast<std::size_t>(layers); ++l) {
      const bool last = l + 1 == static_cast<std::size_t>(layers);
      h[l + 1][t] =
          buffer(fmt::format("h{}.{}", l, t), 256, last ? BufferKind::output : BufferKind::temporary);
      std::vector<std::int32_t> inputs{weights[l], h[l][t]};
      if (t > 0) inputs.push_back(h[l + 1][t - 1]);
      graph.ops.push_back(
          {fmt::format("cell{}.{}", l, t), "cell", inputs, {h[l + 1][t]}, 0, 1, false, false});
    }
  check(graph);
  return graph;
}

PlanRequest request_for(const PlanGraph& graph, std::int64_t memory) {
  PlanRequest request;
  request.graph = &graph;
  request.device.name = "test";
  request.device.memory_bytes = memory;
  request.device.h2d_bytes_per_second = request.device.d2h_bytes_per_second = 2.5e5;
  request.search_evaluations = 200;
  return request;
}

PlanRequest random_request(const PlanGraph& graph, std::uint64_t seed, std::int64_t evaluations) {
  PlanRequest request = request_for(graph, 0);
  request.device = random_device(seed, graph);
  request.search_evaluations = evaluations;
  return request;
}

// Room for two of four weights: step by step each weight is fetched for each of the 10 steps; layer by layer,
// once.
TEST(AffinityOrder, KeepsTheUsesOfAWeightTogether) {
  const PlanGraph graph = recurrent(4, 10, 1 << 20);
  const OpTable table(graph);
  const Dependencies dependencies(graph);
  const auto order = affinity_order(table, dependencies, 5 << 19, {});
  ASSERT_TRUE(is_valid_order(dependencies, order));
  int changes = 0;
  for (std::size_t k = 1; k < order.size(); ++k) changes += order[k] % 4 != order[k - 1] % 4 ? 1 : 0;
  EXPECT_EQ(changes, 3);
}

// Two layers: f0 f1 loss, then b1 b0 (data gradients) and, as given, all weight gradients and updates at the
// end. Made from the end, the order runs each weight gradient as soon as its layer's data gradient is there,
// so that it need not be kept.
TEST(AffinityOrder, FromTheEndWeightGradientsFollowWhatTheyNeed) {
  PlanGraph graph;
  const auto buffer = [&](const std::string& name, std::int64_t bytes, BufferKind kind) {
    graph.buffers.push_back({name, bytes, kind});
    return static_cast<std::int32_t>(graph.buffers.size()) - 1;
  };
  const auto temporary = BufferKind::temporary;
  constexpr int layers = 4;
  std::vector<std::int32_t> weight, value{buffer("x", 1000, BufferKind::input)}, gradient;
  for (int l = 0; l < layers; ++l) {
    weight.push_back(buffer(fmt::format("w{}", l), 5000, BufferKind::parameter));
    value.push_back(buffer(fmt::format("y{}", l), 1000, temporary));
    gradient.push_back(buffer(fmt::format("dy{}", l), 1000, temporary));
  }
  const auto op = [&](const std::string& name, std::vector<std::int32_t> in, std::vector<std::int32_t> out) {
    graph.ops.push_back({name, "op", std::move(in), std::move(out), 0, 1, false, false});
  };
  const auto at = [](int l) { return static_cast<std::size_t>(l); };
  for (int l = 0; l < layers; ++l)
    op(fmt::format("f{}", l), {value[at(l)], weight[at(l)]}, {value[at(l + 1)]});
  op("loss", {value.back()}, {gradient.back()});
  for (int l = layers - 1; l > 0; --l)
    op(fmt::format("b{}", l), {gradient[at(l)], weight[at(l)]}, {gradient[at(l - 1)]});
  for (int l = layers - 1; l >= 0; --l) {
    const std::int32_t dw = buffer(fmt::format("dw{}", l), 5000, temporary);
    op(fmt::format("g{}", l), {gradient[at(l)], value[at(l)]}, {dw});
    op(fmt::format("u{}", l), {weight[at(l)], dw}, {weight[at(l)]});
  }
  check(graph);
  const OpTable table(graph);
  const Dependencies dependencies(graph);
  std::string text;
  for (std::int32_t o : affinity_order(table, dependencies, 20000, {1, 1, true}))
    text += graph.ops[static_cast<std::size_t>(o)].name + " ";
  EXPECT_EQ(text, "f0 f1 f2 f3 loss b3 g3 u3 b2 g2 u2 b1 g1 u1 g0 u0 ");
}

TEST(AffinityOrder, RandomGraphsGiveValidOrders) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    const OpTable table(graph);
    const Dependencies dependencies(graph);
    for (const AffinityWeights& weights :
         {AffinityWeights{1, 1}, AffinityWeights{1, 0}, AffinityWeights{0, 1}, AffinityWeights{1, 1, true},
          AffinityWeights{0.3, 1, true}})
      EXPECT_TRUE(is_valid_order(dependencies, affinity_order(table, dependencies, 5000, weights))) << seed;
  }
}

TEST(JointPlanner, OrderDecidesRecurrentNets) {
  const PlanGraph graph = recurrent(4, 10, 1 << 20);
  const PlanRequest request = request_for(graph, 5 << 19);
  const double belady = make_planner("belady")->plan(request).predicted.efficiency;
  const Program joint = make_planner("joint")->plan(request);
  EXPECT_LT(belady, 0.7);
  EXPECT_GT(joint.predicted.efficiency, 0.9);
  EXPECT_TRUE(verify(joint).valid);
}

TEST(JointPlanner, NeverSlowerThanAPlannerThatDoesNotSearch) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    PlanRequest request = random_request(graph, seed, 60);
    const Program joint = make_planner("joint")->plan(request);
    for (const PlannerInfo& info : planner_list()) {
      if (info.searches || info.name == "none") continue;
      const double other = make_planner(info.name)->plan(request).predicted.iteration_seconds;
      EXPECT_LE(joint.predicted.iteration_seconds, other * (1 + 1e-9)) << seed << ", " << info.name;
    }
    EXPECT_GE(joint.predicted.iteration_seconds, joint.predicted.bound_seconds * (1 - 1e-9)) << seed;
    if (joint.predicted.recompute_seconds == 0) {
      EXPECT_GE(joint.predicted.iteration_seconds, joint.predicted.swap_bound_seconds * (1 - 1e-9)) << seed;
    }
  }
}

// Whatever is left out, plans are valid and keep to it.
TEST(JointPlanner, PartsCanBeLeftOut) {
  constexpr JointParts cuts[] = {{.order = false},
                                 {.offsets = false},
                                 {.eviction = false},
                                 {.clean_eviction = false},
                                 {.recompute = false}};
  int planned = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    PlanRequest request = random_request(graph, seed, 80);
    for (const JointParts& parts : cuts) {
      request.parts = parts;
      Program program;
      try {
        program = make_planner("joint")->plan(request);
      } catch (const Error& error) {
        EXPECT_FALSE(parts.offsets) << error.what();
        EXPECT_THAT(error.what(), testing::HasSubstr("size-class pool"));
        continue;
      }
      ++planned;
      const Verdict verdict = verify(program);
      EXPECT_TRUE(verdict.valid) << seed << ": " << verdict.error;
      if (!parts.recompute) {
        EXPECT_EQ(program.predicted.recompute_seconds, 0) << seed;
      }
    }
  }
  EXPECT_GT(planned, 120);
}

// Host memory that one's own plan, or that of any baseline, makes do with is enough.
TEST(JointPlanner, PlansWithinTheHostMemoryOfAnyBaseline) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    PlanRequest request = random_request(graph, seed, 30);
    std::vector<std::int64_t> enough{make_planner("joint")->plan(request).host_bytes};
    for (const PlannerInfo& info : planner_list())
      if (!info.searches && info.name != "none")
        enough.push_back(make_planner(info.name)->plan(request).host_bytes);
    for (const std::int64_t host : enough) {
      request.device.host_bytes = host;
      Program program;
      ASSERT_NO_THROW(program = make_planner("joint")->plan(request)) << seed << ", " << host;
      EXPECT_LE(program.host_bytes, host);
      EXPECT_TRUE(verify(program).valid) << seed;
    }
  }
}

TEST(JointPlanner, BudgetsInEvaluationsAreExact) {
  const PlanGraph graph = random_plan_graph(3, {30, 60, 5000});
  PlanRequest request = request_for(graph, largest_op_bytes(graph) * 5 / 4);
  for (const int evaluations : {1, 2, 7, 50, 333}) {
    request.search_evaluations = evaluations;
    for (const int threads : {1, 3}) {
      request.threads = threads;
      EXPECT_EQ(make_planner("joint")->plan(request).search.evaluations, evaluations)
          << threads << " threads";
    }
  }
}

TEST(JointPlanner, ThreadsChangeNothing) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const PlanGraph graph = random_plan_graph(seed, {30, 60, 5000});
    PlanRequest request = request_for(graph, largest_op_bytes(graph) * 5 / 4);
    request.search_evaluations = 250;
    request.seed = seed;
    const Program one = make_planner("joint")->plan(request);
    request.threads = 3;
    const Program three = make_planner("joint")->plan(request);
    ASSERT_EQ(one.instructions.size(), three.instructions.size());
    for (std::size_t i = 0; i < one.instructions.size(); ++i) {
      EXPECT_EQ(one.instructions[i].target, three.instructions[i].target);
      EXPECT_EQ(one.instructions[i].offsets, three.instructions[i].offsets);
    }
    EXPECT_EQ(one.predicted.iteration_seconds, three.predicted.iteration_seconds);
    EXPECT_EQ(one.search.evaluations, three.search.evaluations);
  }
}

// Without orders and recompute the plan runs the given order, each op once.
TEST(JointPlanner, LeftOutPartsStayAsGiven) {
  const PlanGraph graph = recurrent(4, 10, 1 << 20);
  PlanRequest request = request_for(graph, 5 << 19);
  request.parts.order = request.parts.recompute = false;
  const Program program = make_planner("joint")->plan(request);
  EXPECT_EQ(first_run_order(program), given_order(graph));
  EXPECT_EQ(program.predicted.recompute_seconds, 0);
}

TEST(JointPlanner, StopKeepsTheBest) {
  const PlanGraph graph = recurrent(4, 10, 1 << 20);
  PlanRequest request = request_for(graph, 3 << 19);
  request.search_evaluations = 1'000'000'000;
  std::stop_source source;
  request.stop = source.get_token();
  request.progress = [&](const PlanProgress&) { source.request_stop(); };
  EXPECT_TRUE(verify(make_planner("joint")->plan(request)).valid);
}

}  // namespace
}  // namespace swapadvisor
