#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/baseline_rule.h>
#include <swapadvisor/swap/baselines.h>
#include <swapadvisor/swap/verify.h>

#include <string>

namespace swapadvisor {
namespace {

constexpr std::int64_t plenty = 1 << 20;

DeviceSpec device(std::int64_t memory = plenty) {
  DeviceSpec spec;
  spec.name = "test";
  spec.memory_bytes = memory;
  spec.h2d_bytes_per_second = spec.d2h_bytes_per_second = 1e9;
  return spec;
}

Program plan(const PlanGraph& graph, const std::string& planner, const DeviceSpec& spec = device()) {
  check(graph);
  PlanRequest request;
  request.graph = &graph;
  request.device = spec;
  Program program = make_planner(planner)->plan(request);
  EXPECT_EQ(verify(program).error, "");
  EXPECT_LE(program.arena_bytes, spec.memory_bytes);
  return program;
}

/// The instructions in list order: "in x, conv1, out a, relu, …".
std::string text(const Program& program) {
  std::string all;
  for (const Instruction& i : program.instructions) {
    const auto target = static_cast<std::size_t>(i.target);
    if (!all.empty()) all += ", ";
    if (i.kind == InstructionKind::run)
      all += program.graph.ops[target].name;
    else
      all += (i.kind == InstructionKind::swap_in ? "in " : "out ") + program.graph.buffers[target].name;
  }
  return all;
}

/// What the `which`-th instruction waits for in the same iteration, by name.
std::string waits(const Program& program, std::size_t which) {
  std::string all;
  for (std::int32_t w : program.instructions.at(which).wait) {
    Program one = program;
    one.instructions = {program.instructions[static_cast<std::size_t>(w)]};
    all += (all.empty() ? "" : ", ") + text(one);
  }
  return all;
}

/// Builds a graph by names; every buffer has 1000 bytes, every op takes a microsecond.
class Builder {
 public:
  std::int32_t buffer(const std::string& name, BufferKind kind = BufferKind::temporary) {
    for (std::size_t b = 0; b < graph.buffers.size(); ++b)
      if (graph.buffers[b].name == name) return static_cast<std::int32_t>(b);
    graph.buffers.push_back({name, 1000, kind});
    return static_cast<std::int32_t>(graph.buffers.size()) - 1;
  }
  void op(const std::string& name, const std::string& type, const std::vector<std::string>& inputs,
          const std::vector<std::string>& outputs, bool recomputable = false) {
    PlanOp op{name, type, {}, {}, 0, 1e-6, recomputable, false};
    for (const std::string& input : inputs) op.inputs.push_back(buffer(input));
    for (const std::string& output : outputs) op.outputs.push_back(buffer(output));
    graph.ops.push_back(std::move(op));
  }

  PlanGraph graph;
};

/// x → conv1 → a → relu1 → b → conv2 → c → relu2 → d → conv3 → e → loss, and back, with momentum.
PlanGraph network() {
  Builder b;
  b.buffer("x", BufferKind::input);
  for (const char* i : {"1", "2", "3"}) {
    b.buffer(std::string("w") + i, BufferKind::parameter);
    b.buffer(std::string("m") + i, BufferKind::state);
  }
  b.op("conv1", "conv2d", {"x", "w1"}, {"a"}, true);
  b.op("relu1", "relu", {"a"}, {"b"}, true);
  b.op("conv2", "conv2d", {"b", "w2"}, {"c"}, true);
  b.op("relu2", "relu", {"c"}, {"d"}, true);
  b.op("conv3", "conv2d", {"d", "w3"}, {"e"}, true);
  b.op("loss", "loss", {"e"}, {"ge"});
  b.op("conv3b", "conv2d_backward", {"d", "w3", "ge"}, {"gd", "gw3"});
  b.op("sgd3", "sgd", {"w3", "m3", "gw3"}, {"w3", "m3"});
  b.op("relu2b", "relu_backward", {"c", "gd"}, {"gc"});
  b.op("conv2w", "conv2d_backward", {"b", "gc"}, {"gw2"});
  b.op("conv2x", "conv2d_backward", {"w2", "gc"}, {"gb"});
  b.op("sgd2", "sgd", {"w2", "m2", "gw2"}, {"w2", "m2"});
  b.op("relu1b", "relu_backward", {"a", "gb"}, {"ga"});
  b.op("conv1w", "conv2d_backward", {"x", "ga"}, {"gw1"});
  b.op("sgd1", "sgd", {"w1", "m1", "gw1"}, {"w1", "m1"});
  return b.graph;
}

// What backward convolutions read (x, b, d) is offloaded by its last forward reader, and fetched while the
// backward layer of the one before in order of need runs; x has its copy in the host store already.
TEST(Baselines, VdnnConvOffloadsInputsOfConvolutions) {
  const Program program = plan(network(), "vdnn-conv");
  EXPECT_EQ(
      text(program),
      "in x, conv1, relu1, out b, conv2, relu2, out d, conv3, in d, loss, in b, conv3b, sgd3, relu2b, in x, "
      "conv2w, conv2x, sgd2, relu1b, conv1w, sgd1");
  EXPECT_EQ(program.predicted.fallback_bytes, 0);
  EXPECT_EQ(waits(program, 3), "relu1") << "the offload of b starts with conv2";
  EXPECT_EQ(waits(program, 5), "out b") << "and what comes after conv2 waits for it";
  EXPECT_EQ(waits(program, 10), "loss") << "the prefetch of b starts with conv3's backward layer";
  EXPECT_EQ(waits(program, 12), "in b") << "and what comes after that waits for it";
  EXPECT_EQ(waits(program, 14), "relu2b") << "conv2w and conv2x are one layer";
  EXPECT_EQ(waits(program, 17), "in x");
}

TEST(Baselines, VdnnAllOffloadsInputsOfAllLayers) {
  const Program program = plan(network(), "vdnn-all");
  EXPECT_EQ(text(program),
            "in x, conv1, out a, relu1, out b, conv2, out c, relu2, out d, conv3, in d, loss, in c, conv3b, "
            "sgd3, in b, "
            "relu2b, in a, conv2w, conv2x, sgd2, in x, relu1b, conv1w, sgd1");
  EXPECT_EQ(program.predicted.fallback_bytes, 0);
  EXPECT_EQ(program.resident.size(), 6u) << "parameters and states stay";
  EXPECT_EQ(waits(program, 18), "in b");
}

// The output of conv1 leaves and comes back one convolution ahead of its use; that of conv2 is needed at once
// when the backward pass begins. Both ReLUs run again.
TEST(Baselines, SuperNeuronsOffloadsConvolutionsAndRunsTheRestAgain) {
  const Program program = plan(network(), "superneurons");
  EXPECT_EQ(text(program),
            "in x, conv1, out a, relu1, conv2, relu2, conv3, loss, relu2, in a, conv3b, sgd3, relu2b, relu1, "
            "conv2w, "
            "conv2x, sgd2, relu1b, conv1w, sgd1");
  EXPECT_EQ(waits(program, 5), "out a") << "for its room, not by rule";
  EXPECT_EQ(waits(program, 9), "relu2");
  EXPECT_EQ(program.predicted.fallback_bytes, 0);
  EXPECT_DOUBLE_EQ(program.predicted.recompute_seconds, 2e-6);
}

// The cheap ops between c1 and c2 are together larger than any op: made again for each backward op, not once.
// Their first op reads a as soon as the backward pass begins, so that stays.
TEST(Baselines, SuperNeuronsMakesLargeSegmentsAgainEachTime) {
  Builder b;
  b.op("c1", "conv2d", {}, {"a"});
  b.op("r1", "relu", {"a"}, {"p"}, true);
  b.op("r2", "relu", {"p"}, {"q"}, true);
  b.op("r3", "relu", {"q"}, {"r"}, true);
  b.op("r4", "relu", {"r"}, {"s"}, true);
  b.op("c2", "conv2d", {"s"}, {"t"});
  b.op("c2b", "conv2d_backward", {"s", "t"}, {"gs"});
  b.op("r4b", "relu_backward", {"r", "gs"}, {"gr"});
  b.op("r3b", "relu_backward", {"q", "gr"}, {"gq"});
  b.op("r2b", "relu_backward", {"p", "gq"}, {"gp"});
  b.op("c1b", "conv2d_backward", {"a", "gp"}, {"ga"});
  EXPECT_EQ(text(plan(b.graph, "superneurons")),
            "c1, r1, r2, r3, r4, c2, r1, r2, r3, r4, c2b, r1, r2, r3, r4b, r1, r2, r3b, r1, r2b, c1b");
}

TEST(Baselines, CheckpointRunsSegmentsAgainFromTheirBoundaries) {
  Builder b;
  b.buffer("x", BufferKind::input);
  const auto name = [](const char* prefix, int i) { return fmt::format("{}{}", prefix, i); };
  for (int i = 1; i <= 9; ++i)
    b.op(name("f", i), "op", {i == 1 ? "x" : name("v", i - 1)}, {name("v", i)}, true);
  b.op("b9", "op", {"v9"}, {"g9"});
  for (int i = 8; i >= 1; --i) b.op(name("b", i), "op", {name("v", i), name("g", i + 1)}, {name("g", i)});
  const std::string forward = "in x, f1, f2, f3, f4, f5, f6, f7, f8, f9, b9, b8, b7, ";
  const std::string again = "b6, f4, f5, b5, b4, b3, f1, f2, b2, b1";
  // Three segments keep v3, v6 and the last three; two gradients live beside them.
  const Program tight = plan(b.graph, "checkpoint", device(7 * 1024));
  EXPECT_EQ(text(tight), forward + again);
  EXPECT_EQ(tight.predicted.fallback_bytes, 0);
  EXPECT_DOUBLE_EQ(tight.predicted.recompute_seconds, 4e-6);
}

TEST(Baselines, ZeroOffloadKeepsOptimizerStatesInTheHost) {
  const Program program = plan(network(), "zero-offload");
  EXPECT_EQ(text(program),
            "in x, conv1, relu1, conv2, relu2, conv3, loss, in m3, conv3b, in m2, sgd3, out m3, relu2b, "
            "conv2w, conv2x, "
            "in m1, sgd2, out m2, relu1b, conv1w, sgd1, out m1");
  EXPECT_EQ(waits(program, 9), "conv3b") << "one update ahead";
  EXPECT_EQ(program.predicted.fallback_bytes, 0);
  ASSERT_EQ(program.resident.size(), 3u);
  for (const Resident& resident : program.resident)
    EXPECT_EQ(program.graph.buffers[static_cast<std::size_t>(resident.buffer)].kind, BufferKind::parameter);
}

TEST(Baselines, ZeroOffloadLeavesRunningStatisticsAlone) {
  PlanGraph graph = network();
  graph.buffers.push_back({"mean", 1000, BufferKind::state});
  const auto mean = static_cast<std::int32_t>(graph.buffers.size()) - 1;
  graph.ops.insert(graph.ops.begin() + 1,
                   {"stats", "bn_running_update", {mean}, {mean}, 0, 1e-6, false, false});
  const std::string all = text(plan(graph, "zero-offload"));
  EXPECT_EQ(all.find("mean"), std::string::npos);
  EXPECT_NE(all.find("out m1"), std::string::npos);
}

// v is used again at once and then, by levels, far later: it leaves after the near use.
TEST(Baselines, TflmsSwapsWhatIsUsedAgainFarAway) {
  Builder b;
  b.op("make", "op", {}, {"v"});
  b.op("near", "op", {"v"}, {"t1"});
  for (int i = 1; i < 8; ++i)
    b.op(fmt::format("t{}", i), "op", {fmt::format("t{}", i)}, {fmt::format("t{}", i + 1)});
  b.op("far", "op", {"v", "t8"}, {"end"});
  b.graph.ops[5].workspace_bytes = 1000;
  EXPECT_EQ(text(plan(b.graph, "tflms")), "make, near, t1, t2, t3, t4, t5, t6, t7, far") << "all fits";
  const Program tight = plan(b.graph, "tflms", device(3 * 1024));
  EXPECT_EQ(text(tight), "make, out v, near, t1, t2, t3, t4, t5, t6, in v, t7, far");
  EXPECT_EQ(tight.predicted.fallback_bytes, 0);
}

TEST(Baselines, WhatTheRuleDoesNotAskForIsFallback) {
  const PlanGraph graph = network();
  const std::int64_t least = largest_op_bytes(graph);
  for (const char* name : {"tflms", "vdnn-conv", "vdnn-all", "superneurons", "checkpoint", "zero-offload"}) {
    const Prediction roomy = plan(graph, name).predicted;
    EXPECT_EQ(roomy.fallback_bytes, 0) << name;
    const Prediction tight = plan(graph, name, device(least)).predicted;
    EXPECT_GT(tight.fallback_bytes, 0) << name;
    EXPECT_LT(tight.fallback_bytes, tight.swap_in_bytes + tight.swap_out_bytes)
        << name << ": x comes in once anyway";
  }
}

TEST(Baselines, ConvolutionLikeByNameElseByCost) {
  Builder b;
  for (const char* type : {"conv2d", "gemm", "matmul", "relu", "bn", "max_pool2d", "cell", "mystery", "copy"})
    b.op(type, type, {}, {type});
  b.graph.ops[7].seconds = 5e-6;
  EXPECT_EQ(expensive_ops(b.graph), (std::vector<std::uint8_t>{1, 1, 1, 0, 0, 0, 0, 1, 0}));
}

TEST(Baselines, OpsOfALayerReadTheSameGradient) {
  const PlanGraph graph = network();
  const RuleGraph rule(graph);
  EXPECT_EQ(rule.turn, 5);
  // loss, conv3b, sgd3, relu2b, then conv2w and conv2x together.
  EXPECT_EQ(layer_starts(rule.table, rule.order, rule.turn),
            (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 11, 12, 13, 14}));
}

// Each plan passes the verifier and stays within the limit; an op that alone fits is no reason to refuse,
// though a second run of another would keep the value whose place its output takes.
TEST(Baselines, RandomGraphsAreRefusedOnlyWhereOneOpDoesNotFit) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    DeviceSpec spec = random_device(seed, graph);
    for (const char* name :
         {"tflms", "vdnn-conv", "vdnn-all", "superneurons", "checkpoint", "zero-offload"}) {
      SCOPED_TRACE(fmt::format("graph {}, planner {}", seed, name));
      const Program program = plan(graph, name, spec);
      EXPECT_GE(program.predicted.fallback_bytes, 0);
      if (HasFailure()) return;
      DeviceSpec tiny = spec;
      tiny.memory_bytes = largest_op_bytes(graph);
      if (tiny.memory_bytes < arena_alignment || seed % 4 != 0) continue;
      plan(graph, name, tiny);
      --tiny.memory_bytes;
      EXPECT_THROW(plan(graph, name, tiny), Error);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace swapadvisor
