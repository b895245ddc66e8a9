#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/core/program.h>
#include <swapadvisor/memory/size_class_pool.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace swapadvisor {
namespace {

// Ops with operands of (3, 1) and (2, 2, 1) units of 256 bytes, the second with a workspace of 1 unit.
PlanGraph two_ops() {
  PlanGraph graph;
  for (std::int64_t units : {3, 1, 2, 2, 1})
    graph.buffers.push_back({"b", units * 256 - 5, BufferKind::temporary});
  graph.ops.push_back({"first", "op", {}, {0, 1}, 0, 1, false, false});
  graph.ops.push_back({"second", "op", {}, {2, 3, 4}, 200, 1, false, false});
  return graph;
}

TEST(PoolDemand, ProfileIsTheLargestKthDemand) {
  const PlanGraph graph = two_ops();
  const PoolDemand demand(graph);
  ASSERT_EQ(std::vector<std::int64_t>(demand.sizes().begin(), demand.sizes().end()),
            (std::vector<std::int64_t>{256, 512, 768}));
  // Sorted demands: (3, 1) and (2, 2, 1, 1); the largest of each place: 3, 2, 1, 1.
  EXPECT_EQ(std::vector<std::int32_t>(demand.profile().begin(), demand.profile().end()),
            (std::vector<std::int32_t>{2, 1, 0, 0}));
  EXPECT_EQ(demand.size_of_workspace(0), -1);
  EXPECT_EQ(demand.size_of_workspace(1), 0);
  EXPECT_EQ(std::vector<std::int32_t>(demand.owners().begin(), demand.owners().end()),
            (std::vector<std::int32_t>{3, 2, 1}));
}

TEST(PoolDemand, AnOperandThatIsReadAndWrittenCountsOnce) {
  PlanGraph graph = two_ops();
  graph.ops.push_back({"update", "op", {0, 0}, {0}, 0, 1, false, false});
  EXPECT_EQ(PoolDemand(graph).profile().size(), 4u);
}

TEST(SizeClassPool, SmallestPoolIsTheProfile) {
  const PlanGraph graph = two_ops();
  const PoolDemand demand(graph);
  const SizeClassPool pool = smallest_pool(demand);
  EXPECT_EQ(pool.count, (std::vector<std::int32_t>{2, 1, 1}));
  EXPECT_EQ(pool.class_of, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(pool_bytes(demand, pool), 2 * 256 + 512 + 768);
  EXPECT_TRUE(holds_every_op(demand, pool));
}

TEST(SizeClassPool, HoldsEveryOpWithLargerObjectsToo) {
  const PlanGraph graph = two_ops();
  const PoolDemand demand(graph);
  SizeClassPool pool = smallest_pool(demand);
  pool.count = {0, 0, 4};
  EXPECT_TRUE(holds_every_op(demand, pool));
  pool.count = {0, 3, 1};
  EXPECT_TRUE(holds_every_op(demand, pool));
  pool.count = {3, 0, 1};  // the second largest demand is 512
  EXPECT_FALSE(holds_every_op(demand, pool));
  pool.count = {9, 4, 0};
  EXPECT_FALSE(holds_every_op(demand, pool));
  pool.count = {1, 1, 1};
  EXPECT_FALSE(holds_every_op(demand, pool));
}

TEST(SizeClassPool, SizesMoveToTheNextLargerClass) {
  SizeClassPool pool;
  pool.class_of = {0, 1, 1, 3};
  pool.class_of[2] = 2;
  pool.count = {0, 0, 2, 0};
  map_to_existing_classes(pool);
  EXPECT_EQ(pool.class_of, (std::vector<std::int32_t>{2, 2, 2, -1}));
}

// Any op's operands, largest first, fit into the pool's objects, largest first.
TEST(SizeClassPool, SmallestPoolHoldsEveryOpOfRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    const PoolDemand demand(graph);
    const SizeClassPool pool = smallest_pool(demand);
    std::vector<std::int64_t> objects;
    for (std::size_t c = 0; c < pool.count.size(); ++c)
      objects.insert(objects.begin(), static_cast<std::size_t>(pool.count[c]), demand.sizes()[c]);
    for (const PlanOp& op : graph.ops) {
      std::vector<std::int32_t> operands = op.inputs;
      operands.insert(operands.end(), op.outputs.begin(), op.outputs.end());
      std::sort(operands.begin(), operands.end());
      operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
      std::vector<std::int64_t> sizes;
      for (std::int32_t b : operands) sizes.push_back(graph.buffers[static_cast<std::size_t>(b)].bytes);
      if (op.workspace_bytes > 0) sizes.push_back(op.workspace_bytes);
      std::sort(sizes.begin(), sizes.end(), std::greater<>());
      ASSERT_LE(sizes.size(), objects.size());
      for (std::size_t k = 0; k < sizes.size(); ++k) ASSERT_LE(sizes[k], objects[k]) << "graph " << seed;
    }
  }
}

}  // namespace
}  // namespace swapadvisor
