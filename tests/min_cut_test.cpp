#include <gtest/gtest.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/swap/min_cut.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

namespace swapadvisor {
namespace {

// Two ways from 0 to 3 with bottlenecks 2 and 3, and a bridge of 1 between them.
TEST(MinCut, KnownFlow) {
  MinCut cut(4);
  cut.add_edge(0, 1, 3);
  cut.add_edge(0, 2, 4);
  cut.add_edge(1, 2, 1);
  cut.add_edge(1, 3, 2);
  cut.add_edge(2, 3, 3);
  EXPECT_DOUBLE_EQ(cut.solve(0, 3), 5);
  EXPECT_TRUE(cut.on_source_side(0));
  EXPECT_FALSE(cut.on_source_side(3));
}

TEST(MinCut, CapacitiesCanChange) {
  MinCut cut(3);
  const std::int32_t first = cut.add_edge(0, 1, 1);
  cut.add_edge(1, 2, 5);
  EXPECT_DOUBLE_EQ(cut.solve(0, 2), 1);
  EXPECT_FALSE(cut.on_source_side(1));
  cut.set_capacity(first, 9);
  EXPECT_DOUBLE_EQ(cut.solve(0, 2), 5);
  EXPECT_TRUE(cut.on_source_side(1));
}

TEST(MinCut, InfiniteEdgesAreNeverCut) {
  MinCut cut(4);
  cut.add_edge(0, 1, MinCut::infinite);
  cut.add_edge(1, 2, 7);
  cut.add_edge(2, 3, MinCut::infinite);
  EXPECT_DOUBLE_EQ(cut.solve(0, 3), 7);
  MinCut all(2);
  all.add_edge(0, 1, MinCut::infinite);
  EXPECT_EQ(all.solve(0, 1), MinCut::infinite);
}

// Every subset of the nodes between is tried.
TEST(MinCut, EqualsTheBestOfAllCuts) {
  constexpr std::int32_t nodes = 8;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const RandomStream random{seed, 0, 0};
    std::vector<std::tuple<std::int32_t, std::int32_t, double>> edges;
    for (std::uint64_t k = 0; k < 20; ++k) {
      const auto from = static_cast<std::int32_t>(random.below(3 * k, nodes));
      const auto to = static_cast<std::int32_t>(random.below(3 * k + 1, nodes));
      edges.emplace_back(from, to, 1 + random.below(3 * k + 2, 100));
    }
    MinCut cut(nodes);
    for (const auto& [from, to, capacity] : edges) cut.add_edge(from, to, capacity);
    const auto value = [&](std::uint32_t side) {  // bit per node on the source's side
      double sum = 0;
      for (const auto& [from, to, capacity] : edges)
        if ((side >> from & 1u) != 0 && (side >> to & 1u) == 0) sum += capacity;
      return sum;
    };
    double best = std::numeric_limits<double>::infinity();
    for (std::uint32_t side = 1; side < 1u << (nodes - 1); side += 2) best = std::min(best, value(side));
    EXPECT_DOUBLE_EQ(cut.solve(0, nodes - 1), best) << seed;
    std::uint32_t side = 0;
    for (std::int32_t n = 0; n < nodes; ++n) side |= cut.on_source_side(n) ? 1u << n : 0u;
    EXPECT_DOUBLE_EQ(value(side), best) << seed;
  }
}

}  // namespace
}  // namespace swapadvisor
