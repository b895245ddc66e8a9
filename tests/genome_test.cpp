#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/swap/genome.h>

#include <algorithm>
#include <map>
#include <vector>

namespace swapadvisor {
namespace {

using Ops = std::vector<std::int32_t>;

TEST(CrossOrders, KeepsAPrefixOfOneAndTheRelativeOrderOfTheOther) {
  Ops child;
  cross_orders(Ops{0, 1, 2, 3, 4, 5}, Ops{0, 4, 2, 5, 1, 3}, 2, child);
  EXPECT_EQ(child, (Ops{0, 1, 4, 2, 5, 3}));
  cross_orders(Ops{0, 1, 2, 3}, Ops{3, 2, 1, 0}, 0, child);
  EXPECT_EQ(child, (Ops{3, 2, 1, 0}));
  cross_orders(Ops{0, 1, 2, 3}, Ops{3, 2, 1, 0}, 4, child);
  EXPECT_EQ(child, (Ops{0, 1, 2, 3}));
}

TEST(OrderMutation, WithoutChoicesGivesTheParentBack) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    const Dependencies dependencies(graph);
    OrderMutation mutation(dependencies);
    for (const Ops& parent : {given_order(graph), depth_first_order(dependencies)}) {
      Draws draws({seed, 1, 2});
      Ops child;
      mutation.apply(parent, 0, draws, child);
      EXPECT_EQ(child, parent);
    }
  }
}

// Three independent ops: with p = 1 every order appears, each about as often.
TEST(OrderMutation, RandomChoicesReachEveryOrder) {
  PlanGraph graph;
  for (int b = 0; b < 3; ++b) {
    graph.buffers.push_back({"b", 1, BufferKind::output});
    graph.ops.push_back({"op", "op", {}, {b}, 0, 1, false, false});
  }
  const Dependencies dependencies(graph);
  OrderMutation mutation(dependencies);
  std::map<Ops, int> seen;
  for (std::uint32_t k = 0; k < 600; ++k) {
    Draws draws({1, k, 0});
    Ops child;
    mutation.apply(Ops{0, 1, 2}, 1, draws, child);
    ++seen[child];
  }
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [order, count] : seen) EXPECT_GT(count, 50);
}

TEST(Genome, OperatorsKeepOrdersTopological) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    const Dependencies dependencies(graph);
    OrderMutation mutation(dependencies);
    Draws draws({seed, 0, 0});
    Ops a, b, child;
    mutation.apply(given_order(graph), 0.3, draws, a);
    mutation.apply(breadth_first_order(dependencies), 1, draws, b);
    ASSERT_TRUE(is_valid_order(dependencies, a)) << seed;
    ASSERT_TRUE(is_valid_order(dependencies, b)) << seed;
    for (std::size_t cut = 0; cut <= a.size(); cut += 1 + a.size() / 7) {
      cross_orders(a, b, cut, child);
      ASSERT_TRUE(is_valid_order(dependencies, child)) << seed;
    }
  }
}

void expect_legal(const PoolDemand& demand, const SizeClassPool& pool, std::int64_t limit) {
  EXPECT_LE(pool_bytes(demand, pool), limit);
  EXPECT_TRUE(holds_every_op(demand, pool));
  const std::int32_t largest = demand.profile().front();
  for (std::size_t s = 0; s < pool.class_of.size(); ++s) {
    if (static_cast<std::int32_t>(s) > largest) continue;  // no op asks for it
    ASSERT_GE(pool.class_of[s], static_cast<std::int32_t>(s));
    EXPECT_GT(pool.count[static_cast<std::size_t>(pool.class_of[s])], 0);
  }
  for (std::int32_t count : pool.count) EXPECT_GE(count, 0);
}

TEST(PoolOperators, ResultsHoldEveryOpWithinTheLimit) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const PlanGraph graph = random_plan_graph(seed);
    const PoolDemand demand(graph);
    const std::int64_t smallest = pool_bytes(demand, smallest_pool(demand));
    for (std::int64_t limit : {smallest, smallest + smallest / 3, smallest * 3}) {
      const PoolOperators operators(demand, {demand.owners().begin(), demand.owners().end()}, limit);
      Draws draws({seed, 0, 0});
      std::vector<bool> some(demand.size_count());
      for (std::size_t s = 0; s < some.size(); ++s) some[s] = draws.chance(0.3);
      SizeClassPool a = operators.make(some, 2, draws);
      SizeClassPool b = operators.make(std::vector<bool>(demand.size_count(), true), 1, draws);
      expect_legal(demand, a, limit);
      expect_legal(demand, b, limit);
      for (int k = 0; k < 20; ++k) {
        SizeClassPool child = operators.cross(a, b, draws);
        expect_legal(demand, child, limit);
        operators.mutate(child, draws);
        expect_legal(demand, child, limit);
        (k % 2 == 0 ? a : b) = child;
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// Each wanted size becomes a class though no op asks for more than one object of the largest.
TEST(PoolOperators, EveryWantedClassGetsItsShare) {
  PlanGraph graph;
  for (int b = 0; b < 12; ++b) graph.buffers.push_back({"b", (b % 3 + 1) * 256, BufferKind::output});
  for (std::int32_t b = 0; b < 12; ++b) graph.ops.push_back({"op", "op", {}, {b}, 0, 1, false, false});
  const PoolDemand demand(graph);
  Draws draws({1, 0, 0});
  const SizeClassPool pool = PoolOperators(demand, {4, 4, 4}, 12 * 256).make({true, true, true}, 1, draws);
  EXPECT_EQ(pool.count, (Ops{2, 2, 2}));
  EXPECT_EQ(pool.class_of, (Ops{0, 1, 2}));
}

// Sizes 1 and 2 units with 4 and 2 buffers alive at most; at 8 units all fit, and no object is idle.
TEST(PoolOperators, MemoryIsSharedOutByNeed) {
  PlanGraph graph;
  for (std::int64_t units : {1, 1, 1, 1, 2, 2})
    graph.buffers.push_back({"b", units * 256, BufferKind::output});
  graph.ops.push_back({"op", "op", {}, {0, 4}, 0, 1, false, false});
  for (std::int32_t b : {1, 2, 3, 5}) graph.ops.push_back({"op", "op", {}, {b}, 0, 1, false, false});
  const PoolDemand demand(graph);
  Draws draws({1, 0, 0});
  EXPECT_EQ(PoolOperators(demand, {4, 2}, 8 * 256).make({true, true}, 1, draws).count, (Ops{4, 2}));
  EXPECT_EQ(PoolOperators(demand, {4, 2}, 100 * 256).make({true, true}, 1, draws).count, (Ops{4, 2}));
  // At half of it, half of each: 2 × 1 + 1 × 2 units.
  EXPECT_EQ(PoolOperators(demand, {4, 2}, 4 * 256).make({true, true}, 1, draws).count, (Ops{2, 1}));
  // One class only: every object has two units.
  const SizeClassPool pool = PoolOperators(demand, {4, 2}, 8 * 256).make({false, true}, 1, draws);
  EXPECT_EQ(pool.count, (Ops{0, 4}));
  EXPECT_EQ(pool.class_of, (Ops{1, 1}));
}

}  // namespace
}  // namespace swapadvisor
