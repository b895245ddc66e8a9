// Captured iterations as a schedule: what the simulator makes of them, by hand.
#include <expect_error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/swap/launch_costs.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/verify.h>
#include <swapadvisor/train/session.h>

#include "program_builder.h"
#include "random_plan_graph.h"

namespace swapadvisor {
namespace {

using test::ProgramBuilder;
using testing::HasSubstr;

/// 100 bytes at 10 a second, then an op of 2 seconds.
Program streamed() {
  ProgramBuilder b;
  const auto weight = b.buffer("w", 100, BufferKind::parameter),
             result = b.buffer("y", 4, BufferKind::temporary);
  const auto op = b.op("f", {weight}, {result}, 2);
  const auto copy = b.in(weight, 0);
  b.run(op, {0, 256}, {copy});
  return b.take();
}

/// `count` ops of a second each.
Program ops(int count) {
  ProgramBuilder b;
  for (int i = 0; i < count; ++i) {
    const auto y = b.buffer(fmt::format("y{}", i), 4, BufferKind::temporary);
    b.run(b.op(fmt::format("f{}", i), {}, {y}, 1), {256 * i});
  }
  return b.take();
}

TEST(LaunchCosts, TheBarrierKeepsTheNextCopyWaiting) {
  const CapturedPrediction p = predict_captured(streamed(), {});
  EXPECT_DOUBLE_EQ(p.stream_seconds, 10);
  EXPECT_DOUBLE_EQ(p.barrier_seconds, 12);
  EXPECT_DOUBLE_EQ(p.captured_seconds, 12);
  EXPECT_FALSE(p.faster());
}

TEST(LaunchCosts, ANodeCostsWhatANodeCosts) {
  const CapturedPrediction p = predict_captured(streamed(), {1, 0.25, 0.5});
  EXPECT_DOUBLE_EQ(p.stream_seconds, 10);
  EXPECT_DOUBLE_EQ(p.captured_seconds, 0.5 + (0.25 + 10) + 1.25) << "the copy has no latency to save";
  EXPECT_FALSE(p.faster());
}

TEST(LaunchCosts, ManyShortOpsAreFasterInAGraph) {
  const CapturedPrediction p = predict_captured(ops(10), {1, 0.125, 0.5});
  EXPECT_DOUBLE_EQ(p.stream_seconds, 10);
  EXPECT_DOUBLE_EQ(p.barrier_seconds, 10);
  EXPECT_DOUBLE_EQ(p.captured_seconds, 0.5 + 10 * 0.125);
  EXPECT_TRUE(p.faster());
  EXPECT_FALSE(predict_captured(ops(10), {1, 1, 0}).faster()) << "equal is not faster";
  EXPECT_FALSE(predict_captured(ops(10), {1, 0.125, 9}).faster()) << "nor is a launch that costs too much";
}

TEST(LaunchCosts, TheHostMustQueueEveryInstruction) {
  EXPECT_DOUBLE_EQ(predict_captured(ops(10), {3, 3, 0}).stream_seconds, 30);
}

TEST(LaunchCosts, TheChoiceIsExplained) {
  const LaunchCosts costs{4e-6, 1e-6, 8e-6};
  EXPECT_EQ(
      describe({2e-3, 2.1e-3, 1.5e-3}, costs),
      "CUDA graph used: predicted 1.50 ms a step as a graph, 2.00 ms from the streams (the barrier between "
      "steps costs 100 µs, launching them whole saves 600 µs: an op or copy costs 4.00 µs from a stream, "
      "1.00 µs in a graph)");
  EXPECT_THAT(describe({2e-3, 2.1e-3, 2.05e-3}, costs), HasSubstr("CUDA graph not used: "));
}

TEST(LaunchCosts, WithABarrierAValidProgramIsValid) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    PlanRequest request;
    request.graph = &graph;
    request.device = random_device(seed, graph);
    const Program program = with_barrier(make_planner("belady")->plan(request));
    const Verdict verdict = verify(program);
    EXPECT_TRUE(verdict.valid) << "graph " << seed << ": " << verdict.error;
  }
}

TEST(LaunchCosts, ADeviceThatCannotCaptureSaysSo) {
  Runtime runtime;
  Graph graph("g");
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {4}));
  graph.output(relu(x), "y");
  SessionOptions options;
  options.capture = true;
  expect_error([&] { Session(graph, runtime, options); }, "cannot capture work");
}

}  // namespace
}  // namespace swapadvisor
