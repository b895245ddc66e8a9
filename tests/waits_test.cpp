#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/verify.h>
#include <swapadvisor/swap/waits.h>

#include <algorithm>

namespace swapadvisor {
namespace {

using Indices = std::vector<std::int32_t>;

Instruction run(std::int32_t op, std::vector<std::int64_t> offsets) {
  return {InstructionKind::run, op, std::move(offsets), {}, {}};
}
Instruction in(std::int32_t buffer, std::int64_t offset) {
  return {InstructionKind::swap_in, buffer, {offset}, {}, {}};
}
Instruction out(std::int32_t buffer, std::int64_t offset) {
  return {InstructionKind::swap_out, buffer, {offset}, {}, {}};
}
PlanOp op(std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs, std::int64_t workspace = 0) {
  return {"op", "op", std::move(inputs), std::move(outputs), workspace, 1, false, false};
}

void expect_waits(const Program& program, const std::vector<Indices>& wait,
                  const std::vector<Indices>& previous) {
  ASSERT_EQ(program.instructions.size(), wait.size());
  for (std::size_t i = 0; i < wait.size(); ++i) {
    EXPECT_EQ(program.instructions[i].wait, wait[i]) << "instruction " << i;
    EXPECT_EQ(program.instructions[i].wait_previous, previous[i])
        << "instruction " << i << ", previous iteration";
  }
}

TEST(InferWaits, RoomPassesFromOneBufferToTheNext) {
  Program program;
  program.graph.buffers = {{"a", 300, BufferKind::temporary}, {"b", 300, BufferKind::parameter}};
  program.graph.ops = {op({}, {0}), op({1}, {})};
  program.instructions = {run(0, {0}), out(0, 0), in(1, 0), run(1, {0})};
  infer_waits(program);
  // The swap-in need not name run 0: the swap-out waited for it.
  expect_waits(program, {{}, {0}, {1}, {2}}, {{}, {}, {}, {}});
}

TEST(InferWaits, NextIterationsCopyWaitsForThisOnesReader) {
  Program program;
  program.graph.buffers = {{"x", 100, BufferKind::input}, {"y", 100, BufferKind::temporary}};
  program.graph.ops = {op({0}, {1}), op({1}, {})};
  program.instructions = {in(0, 0), run(0, {0, 256}), run(1, {256})};
  infer_waits(program);
  expect_waits(program, {{}, {0}, {}}, {{1}, {}, {}});
}

TEST(InferWaits, HostSlotsOrderCopiesAtDifferentAddresses) {
  Program program;
  program.graph.buffers = {{"t", 100, BufferKind::temporary}};
  program.graph.ops = {op({}, {0}), op({0}, {})};
  program.instructions = {run(0, {0}), out(0, 0), in(0, 256), run(1, {256})};
  infer_waits(program);
  // Run 0 overwrites what the last iteration's swap-out read; that is long done: run 1 before it waited for
  // the swap-in. The swap-out, which overwrites what the last swap-in read, knows so through run 0.
  expect_waits(program, {{}, {0}, {1}, {2}}, {{}, {}, {}, {}});
}

TEST(InferWaits, OutputsHaveTwoHostSlotsTemporariesOne) {
  for (const BufferKind kind : {BufferKind::output, BufferKind::temporary}) {
    Program program;
    program.graph.buffers = {{"o", 100, kind}, {"other", 100, BufferKind::parameter}};
    program.graph.ops = {op({}, {0}), op({1}, {})};
    // The swap-in at the end is nobody's: only the next swap-out has to wait for it, if it writes the same
    // slot.
    program.instructions = {run(0, {0}), out(0, 0), in(0, 256), run(1, {512})};
    infer_waits(program);
    EXPECT_EQ(program.instructions[0].wait_previous, Indices{1});
    EXPECT_EQ(program.instructions[1].wait_previous, kind == BufferKind::output ? Indices{} : Indices{2});
    EXPECT_EQ(program.instructions[2].wait, Indices{1});
  }
}

TEST(InferWaits, DisjointRangesNeedNone) {
  Program program;
  program.graph.buffers = {{"a", 256, BufferKind::temporary}, {"b", 256, BufferKind::parameter}};
  program.graph.ops = {op({}, {0})};
  program.instructions = {run(0, {0}), in(1, 256)};
  infer_waits(program);
  expect_waits(program, {{}, {}}, {{}, {}});
}

TEST(InferWaits, PartialOverlapsAndWorkspacesCount) {
  Program program;
  program.graph.buffers = {{"a", 1024, BufferKind::parameter}, {"b", 1024, BufferKind::parameter}};
  program.graph.ops = {op({0}, {}), op({1}, {}, 300)};
  // a at 0..1024; the workspace 768..1280 meets its end; b at 1280 meets neither; then a again over the
  // workspace.
  program.instructions = {in(0, 0), run(0, {0}), in(1, 1280), run(1, {1280, 768}), in(0, 768 - 1024 + 256)};
  infer_waits(program);
  EXPECT_EQ(program.instructions[1].wait, Indices{0});
  EXPECT_EQ(program.instructions[2].wait, Indices{});
  EXPECT_EQ(program.instructions[3].wait, Indices{2});
  EXPECT_EQ(program.instructions[4].wait, Indices{3}) << "its last 256 bytes are in the workspace of run 1";
}

TEST(InferWaits, KeepsExtraWaits) {
  Program program;
  program.graph.buffers = {{"a", 256, BufferKind::temporary}, {"b", 256, BufferKind::parameter}};
  program.graph.ops = {op({}, {0}), op({1}, {})};
  program.instructions = {run(0, {0}), in(1, 256), run(1, {256})};
  program.instructions[1].wait = {0};
  program.instructions[1].wait_previous = {0};
  infer_waits(program);
  expect_waits(program, {{}, {0}, {1}},
               {{}, {0}, {}});  // which makes waiting for the previous run 1 needless
}

// Every wait of many plans is needed: the verifier refuses the plan without it.
TEST(InferWaits, NoWaitIsSuperfluous) {
  int waits = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const PlanGraph graph = random_plan_graph(seed, {2, 25, 5000});
    PlanRequest request;
    request.graph = &graph;
    request.device = random_device(seed, graph);
    Program program = make_planner("belady")->plan(request);
    ASSERT_TRUE(verify(program).valid);
    for (Instruction& instruction : program.instructions)
      for (Indices* list : {&instruction.wait, &instruction.wait_previous}) {
        const Indices all = *list;
        for (std::int32_t dropped : all) {
          *list = all;
          list->erase(std::find(list->begin(), list->end(), dropped));
          EXPECT_FALSE(verify(program).valid)
              << "graph " << seed << ": a wait for " << dropped << " is not needed";
          ++waits;
        }
        *list = all;
      }
  }
  EXPECT_GT(waits, 300);
}

}  // namespace
}  // namespace swapadvisor
