#include <gtest/gtest.h>
#include <swapadvisor/swap/bounds.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/verify.h>

#include <array>

#include "program_builder.h"

namespace swapadvisor {
namespace {

using test::ProgramBuilder;

// Two ops write a and b (100 and 60 bytes), two read them back; 1 second each. Link: 10 in, 5 out.
PlanGraph two_saved_values() {
  ProgramBuilder builder;
  const auto x = builder.buffer("x", 10, BufferKind::input);
  const auto a = builder.buffer("a", 100, BufferKind::temporary);
  const auto b = builder.buffer("b", 60, BufferKind::temporary);
  const auto y = builder.buffer("y", 10, BufferKind::output);
  builder.op("fa", {x}, {a});
  builder.op("fb", {a}, {b});
  builder.op("gb", {b}, {y});
  builder.op("ga", {a, y}, {y});
  return builder.program.graph;
}

const DeviceSpec device = {"d", 1000, DeviceSpec::unbounded, 10, 5, 15, 0, 1};
constexpr std::array<std::int32_t, 4> given = {0, 1, 2, 3};

TEST(Bounds, SwapBoundOfSavedTemporariesByHand) {
  const PlanGraph graph = two_saved_values();
  // The worst boundary is in the middle: 160 bytes alive, so with capacity 100 60 bytes go out before and in
  // after.
  EXPECT_DOUBLE_EQ(swap_bound_seconds(graph, given, device, 100), 60.0 / 5 + 60.0 / 10);
  EXPECT_DOUBLE_EQ(swap_bound_seconds(graph, given, device, 155), 2 + 2);  // 1 s out and 0.5 s in hide
  EXPECT_DOUBLE_EQ(swap_bound_seconds(graph, given, device, 145), 3 + 2);  // 3 s out, 1.5 s in hides
  EXPECT_DOUBLE_EQ(swap_bound_seconds(graph, given, device, 160), 4);
  EXPECT_DOUBLE_EQ(swap_bound_seconds(graph, given, device, 1000), 4);
}

TEST(Bounds, PersistentBytesNeedNoSwapOut) {
  ProgramBuilder builder;
  const auto w = builder.buffer("w", 200, BufferKind::parameter);
  const auto y = builder.buffer("y", 10, BufferKind::output);
  builder.op("f", {w}, {y});
  const std::array<std::int32_t, 1> order = {0};
  EXPECT_DOUBLE_EQ(swap_bound_seconds(builder.program.graph, order, device, 50), 150.0 / 10);
}

TEST(Bounds, ValuesNoLongerReadDoNotCount) {
  // t is read, then overwritten without being read: between its last read and the new write it is dead.
  ProgramBuilder builder;
  const auto x = builder.buffer("x", 10, BufferKind::input);
  const auto t = builder.buffer("t", 100, BufferKind::temporary);
  const auto y = builder.buffer("y", 10, BufferKind::output);
  builder.op("f", {x}, {t});
  builder.op("g", {t}, {y});
  builder.op("f2", {x}, {t});
  builder.op("h", {t, y}, {y});
  // Capacity 5: at the boundary between g and f2 only y (10 bytes) is alive; around it t is (100, then 110).
  EXPECT_DOUBLE_EQ(swap_bound_seconds(builder.program.graph, given, device, 5), 105.0 / 5 + 105.0 / 10);
  EXPECT_DOUBLE_EQ(swap_bound_seconds(builder.program.graph, given, device, 110), 4);
}

TEST(Bounds, OrderMatters) {
  // Two independent chains: interleaved, both values are alive at once; one after the other, never.
  ProgramBuilder builder;
  const auto x = builder.buffer("x", 10, BufferKind::input);
  const auto a = builder.buffer("a", 100, BufferKind::temporary);
  const auto b = builder.buffer("b", 100, BufferKind::temporary);
  const auto p = builder.buffer("p", 1, BufferKind::output);
  const auto q = builder.buffer("q", 1, BufferKind::output);
  builder.op("fa", {x}, {a});
  builder.op("fb", {x}, {b});
  builder.op("ga", {a}, {p});
  builder.op("gb", {b}, {q});
  const std::array<std::int32_t, 4> sequential = {0, 2, 1, 3};
  EXPECT_DOUBLE_EQ(swap_bound_seconds(builder.program.graph, given, device, 100), 20 + 10);
  EXPECT_DOUBLE_EQ(swap_bound_seconds(builder.program.graph, sequential, device, 100), 4);
}

TEST(Bounds, FirstRunOrderSkipsRecompute) {
  const Program program = test::streamed_step();
  EXPECT_EQ(first_run_order(program), (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  Program swapped = program;
  std::swap(swapped.instructions[3], swapped.instructions[5]);
  EXPECT_EQ(first_run_order(swapped), (std::vector<std::int32_t>{0, 2, 1, 3, 4}));
}

// a, b and c (1024 bytes each) are saved for the way back; a makes room for c and returns.
TEST(Bounds, SimulatedTimeOfASwapOnlyPlanIsNotBelow) {
  ProgramBuilder builder;
  const auto x = builder.buffer("x", 256, BufferKind::input);
  const auto a = builder.buffer("a", 1024, BufferKind::temporary);
  const auto b = builder.buffer("b", 1024, BufferKind::temporary);
  const auto c = builder.buffer("c", 1024, BufferKind::temporary);
  const auto y = builder.buffer("y", 256, BufferKind::output);
  builder.op("f0", {x}, {a});
  builder.op("f1", {a}, {b});
  builder.op("f2", {b}, {c});
  builder.op("g2", {c}, {y});
  builder.op("g1", {b, y}, {y});
  builder.op("g0", {a, y}, {y});
  builder.program.device = {"d", 2560, DeviceSpec::unbounded, 10, 5, 15, 0, 1};
  builder.program.arena_bytes = 2560;
  builder.in(x, 2048, {}, {1});
  builder.run(0, {2048, 0}, {0});
  builder.run(1, {0, 1024});
  builder.out(a, 0, {1});
  builder.run(2, {1024, 0}, {3});
  builder.run(3, {0, 2304}, {}, {9});
  builder.in(a, 0, {5});
  builder.run(4, {1024, 2304, 2304});
  builder.run(5, {0, 2304, 2304}, {6});
  builder.out(y, 2304, {8});
  const Program program = builder.take();
  const Verdict verdict = verify(program);
  EXPECT_TRUE(verdict.valid) << verdict.error;
  // Before g2, c, a and b are to be read still: 3072 bytes, 512 of which do not fit.
  EXPECT_DOUBLE_EQ(swap_bound_seconds(program), 512.0 / 5 + 512.0 / 10);
  EXPECT_GE(simulate(program).iteration_seconds, swap_bound_seconds(program));
  EXPECT_NEAR(bound_seconds(program.graph, program.device), 512.0 / 5 + 512.0 / 10, 1e-6);  // nothing may run again
}

// Behind fb, a and b cross: 160 bytes. Nothing may run again: the swap-only bound of the middle, in any order.
TEST(Bounds, BoundWithoutRecomputeByHand) {
  PlanGraph graph = two_saved_values();
  DeviceSpec small = device;
  small.memory_bytes = 100;
  EXPECT_NEAR(bound_seconds(graph, small), 60.0 / 5 + 60.0 / 10, 1e-6);
  small.memory_bytes = 1000;
  EXPECT_DOUBLE_EQ(bound_seconds(graph, small), 4);
}

// fb may run again: 1/60 s a byte. 60 bytes are too many. Of x bytes made again, 60 − x are copied:
// max(2, (60 − x) / 5) + max(2 + x / 60, (60 − x) / 10), least at x = 50, where the copies out hide.
TEST(Bounds, BoundWithRecomputeByHand) {
  PlanGraph graph = two_saved_values();
  graph.ops[1].recomputable = true;
  DeviceSpec small = device;
  small.memory_bytes = 100;
  EXPECT_NEAR(bound_seconds(graph, small), 4 + 50.0 / 60, 1e-5);
}

}  // namespace
}  // namespace swapadvisor
