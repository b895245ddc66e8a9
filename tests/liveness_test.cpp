#include <gtest/gtest.h>
#include <swapadvisor/memory/liveness.h>

namespace swapadvisor {
namespace {

PlanOp op(std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs, bool inplace = false) {
  return {"op", "op", std::move(inputs), std::move(outputs), 0, 1, false, inplace};
}

TEST(Liveness, TemporariesLiveFromWriteToLastRead) {
  PlanGraph graph;
  graph.buffers = {
      {"w", 8, BufferKind::parameter}, {"t", 8, BufferKind::temporary}, {"u", 8, BufferKind::temporary}};
  graph.ops = {op({0}, {1}), op({1}, {2}), op({1, 2}, {}), op({}, {})};
  const Liveness live = live_ranges(graph, std::vector<std::int32_t>{0, 1, 2, 3});
  ASSERT_EQ(live.ranges.size(), 3u);
  EXPECT_EQ(live.ranges[0].buffer, 0);
  EXPECT_EQ(live.ranges[0].first, 0);
  EXPECT_EQ(live.ranges[0].last, 3);
  EXPECT_EQ(live.ranges[1].first, 0);
  EXPECT_EQ(live.ranges[1].last, 2);
  EXPECT_EQ(live.ranges[2].first, 1);
  EXPECT_EQ(live.ranges[2].last, 2);
  EXPECT_EQ(live.operand_begin, (std::vector<std::int32_t>{0, 2, 4, 6, 6}));
  EXPECT_EQ(live.operand_range, (std::vector<std::int32_t>{0, 1, 1, 2, 1, 2}));
}

TEST(Liveness, OverwritingStartsANewRangeAndUpdatingDoesNot) {
  PlanGraph graph;
  graph.buffers = {{"t", 8, BufferKind::temporary}};
  graph.ops = {op({}, {0}), op({0}, {0}), op({}, {0}), op({0}, {})};
  const Liveness live = live_ranges(graph, std::vector<std::int32_t>{0, 1, 2, 3});
  ASSERT_EQ(live.ranges.size(), 2u);
  EXPECT_EQ(live.ranges[0].last, 1);
  EXPECT_EQ(live.ranges[1].first, 2);
  EXPECT_EQ(live.ranges[1].last, 3);
}

TEST(Liveness, FollowsTheOrder) {
  PlanGraph graph;
  graph.buffers = {{"t", 8, BufferKind::temporary}, {"u", 8, BufferKind::temporary}};
  graph.ops = {op({}, {0}), op({}, {1}), op({0}, {}), op({1}, {})};
  const Liveness live = live_ranges(graph, std::vector<std::int32_t>{0, 2, 1, 3});
  EXPECT_EQ(live.ranges[0].last, 1);
  EXPECT_EQ(live.ranges[1].first, 2);
}

TEST(LargestOpBytes, CountsOperandsOnceInWholePiecesAndWorkspaces) {
  PlanGraph graph;
  graph.buffers = {{"w", 300, BufferKind::parameter},
                   {"t", 1000, BufferKind::temporary},
                   {"u", 1000, BufferKind::temporary},
                   {"v", 1, BufferKind::temporary}};
  EXPECT_EQ(largest_op_bytes(graph), 0);
  graph.ops = {op({}, {1}), op({0, 0, 1}, {0})};
  EXPECT_EQ(largest_op_bytes(graph), 512 + 1024) << "each operand once";
  graph.ops[0].workspace_bytes = 700;
  EXPECT_EQ(largest_op_bytes(graph), 1024 + 768);
}

TEST(LargestOpBytes, WorksInPlaceOnlyWhereTheInputDies) {
  PlanGraph graph;
  graph.buffers = {{"t", 1024, BufferKind::temporary}, {"u", 1024, BufferKind::temporary}};
  graph.ops = {op({}, {0}), op({0}, {1}, true), op({1}, {})};
  EXPECT_EQ(largest_op_bytes(graph), 1024);
  graph.ops[2] = op({0}, {});
  EXPECT_EQ(largest_op_bytes(graph), 2048) << "read later";
  graph.ops[2] = op({}, {0});
  EXPECT_EQ(largest_op_bytes(graph), 1024) << "overwritten later, which is no reading";
  graph.ops[2] = op({0}, {0});
  EXPECT_EQ(largest_op_bytes(graph), 2048) << "updated later";
  graph.ops = {op({}, {0}), op({0}, {1})};
  EXPECT_EQ(largest_op_bytes(graph), 2048) << "the op does not allow it";
}

TEST(InplacePair, TakesTheLargestDyingInputOfEqualBytes) {
  PlanGraph graph;
  graph.buffers = {{"a", 8, BufferKind::temporary},
                   {"b", 16, BufferKind::temporary},
                   {"c", 16, BufferKind::parameter},
                   {"x", 16, BufferKind::temporary},
                   {"y", 8, BufferKind::temporary}};
  const auto all_die = [](std::size_t) { return true; };
  const InplacePair pair = inplace_pair(graph, op({0, 1}, {4, 3}, true), all_die);
  EXPECT_EQ(pair.input, 1);
  EXPECT_EQ(pair.output, 1);
  EXPECT_FALSE(inplace_pair(graph, op({0, 1}, {4, 3}, false), all_die).any());
  EXPECT_FALSE(inplace_pair(graph, op({2}, {3}, true), all_die).any()) << "parameters survive";
  EXPECT_FALSE(inplace_pair(graph, op({1, 1}, {3}, true), all_die).any()) << "an operand twice";
  EXPECT_FALSE(inplace_pair(graph, op({1}, {3}, true), [](std::size_t) { return false; }).any());
}

}  // namespace
}  // namespace swapadvisor
