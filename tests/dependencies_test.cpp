#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/swap/dependencies.h>

#include <vector>

namespace swapadvisor {
namespace {

using Ops = std::vector<std::int32_t>;

PlanGraph graph_of(int buffers, std::vector<std::pair<Ops, Ops>> ops) {
  PlanGraph graph;
  for (int b = 0; b < buffers; ++b) graph.buffers.push_back({"b", 1, BufferKind::temporary});
  for (auto& [inputs, outputs] : ops) graph.ops.push_back({"op", "op", inputs, outputs, 0, 1, false, false});
  return graph;
}

Ops successors(const Dependencies& dependencies, std::int32_t op) {
  const auto list = dependencies.successors(op);
  return {list.begin(), list.end()};
}

TEST(Dependencies, ReadAfterWriteWriteAfterReadWriteAfterWrite) {
  // 0 writes a; 1 and 2 read it; 3 overwrites it; 4 overwrites it again, nobody having read it; 5 reads it
  // twice.
  const PlanGraph graph =
      graph_of(4, {{{}, {0}}, {{0}, {1}}, {{0}, {2}}, {{}, {0}}, {{}, {0}}, {{0, 0}, {3}}});
  const Dependencies dependencies(graph);
  EXPECT_EQ(successors(dependencies, 0), (Ops{1, 2}));
  EXPECT_EQ(successors(dependencies, 1), (Ops{3}));
  EXPECT_EQ(successors(dependencies, 2), (Ops{3}));
  EXPECT_EQ(successors(dependencies, 3), (Ops{4}));
  EXPECT_EQ(successors(dependencies, 4), (Ops{5}));
  EXPECT_EQ(std::vector<std::int32_t>(dependencies.predecessor_counts().begin(),
                                      dependencies.predecessor_counts().end()),
            (Ops{0, 1, 1, 2, 1, 1}));
}

TEST(Dependencies, UpdatesInPlaceFollowAllReadersOfTheOldValue) {
  // 0 reads w, 1 updates w, 2 reads the new value.
  const PlanGraph graph = graph_of(3, {{{0}, {1}}, {{0}, {0}}, {{0}, {2}}});
  const Dependencies dependencies(graph);
  EXPECT_EQ(successors(dependencies, 0), (Ops{1}));
  EXPECT_EQ(successors(dependencies, 1), (Ops{2}));
  EXPECT_TRUE(successors(dependencies, 2).empty());
}

TEST(Dependencies, ValidOrders) {
  const PlanGraph graph = graph_of(4, {{{}, {0}}, {{0}, {1}}, {{0}, {2}}, {{1, 2}, {3}}});
  const Dependencies dependencies(graph);
  EXPECT_TRUE(is_valid_order(dependencies, Ops{0, 2, 1, 3}));
  EXPECT_FALSE(is_valid_order(dependencies, Ops{0, 1, 3, 2}));
  EXPECT_FALSE(is_valid_order(dependencies, Ops{0, 1, 2}));
  EXPECT_FALSE(is_valid_order(dependencies, Ops{0, 1, 1, 3}));
  EXPECT_FALSE(is_valid_order(dependencies, Ops{0, 1, 2, 4}));
}

TEST(Dependencies, DepthFirstFollowsAChainBreadthFirstALevel) {
  // Two chains of three ops: 0 → 2 → 4 and 1 → 3 → 5.
  const PlanGraph graph = graph_of(6, {{{}, {0}}, {{}, {1}}, {{0}, {2}}, {{1}, {3}}, {{2}, {4}}, {{3}, {5}}});
  const Dependencies dependencies(graph);
  EXPECT_EQ(depth_first_order(dependencies), (Ops{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(breadth_first_order(dependencies), (Ops{0, 1, 2, 3, 4, 5}));
}

TEST(Dependencies, NaturalOrdersOfRandomGraphsAreValid) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    const Dependencies dependencies(graph);
    EXPECT_TRUE(is_valid_order(dependencies, given_order(graph))) << seed;
    EXPECT_TRUE(is_valid_order(dependencies, depth_first_order(dependencies))) << seed;
    EXPECT_TRUE(is_valid_order(dependencies, breadth_first_order(dependencies))) << seed;
  }
}

}  // namespace
}  // namespace swapadvisor
