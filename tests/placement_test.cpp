#include <gtest/gtest.h>
#include <swapadvisor/core/program.h>
#include <swapadvisor/memory/placement.h>

#include <algorithm>
#include <random>

namespace swapadvisor {
namespace {

void expect_disjoint(const std::vector<PlacementItem>& items, const Placement& placement) {
  ASSERT_EQ(placement.offsets.size(), items.size());
  std::vector<std::size_t> by_first(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    by_first[i] = i;
    EXPECT_EQ(placement.offsets[i] % arena_alignment, 0);
    EXPECT_LE(placement.offsets[i] + items[i].bytes, placement.bytes);
  }
  std::sort(by_first.begin(), by_first.end(),
            [&](std::size_t a, std::size_t b) { return items[a].first < items[b].first; });
  for (std::size_t x = 0; x < items.size(); ++x)
    for (std::size_t y = x + 1; y < items.size(); ++y) {
      const std::size_t a = by_first[x], b = by_first[y];
      if (items[b].first > items[a].last) break;
      EXPECT_TRUE(placement.offsets[a] + items[a].bytes <= placement.offsets[b] ||
                  placement.offsets[b] + items[b].bytes <= placement.offsets[a])
          << "items " << a << " and " << b;
    }
}

TEST(Placement, ReusesWhatIsDead) {
  const std::vector<PlacementItem> items = {{1000, 0, 1}, {200, 1, 3}, {1024, 2, 3}};
  const Placement placement = place(items);
  EXPECT_EQ(placement.bytes, 1024 + 256);
  EXPECT_EQ(placement.bytes, peak_live_bytes(items));
  EXPECT_EQ(placement.offsets[0], placement.offsets[2]);
  expect_disjoint(items, placement);
}

TEST(Placement, NothingNeedsNothing) {
  EXPECT_EQ(place({}).bytes, 0);
  EXPECT_EQ(peak_live_bytes({}), 0);
}

TEST(Placement, TimesAreInclusive) {
  const std::vector<PlacementItem> items = {{256, 0, 1}, {256, 1, 2}};
  EXPECT_EQ(place(items).bytes, 512);
  const std::vector<PlacementItem> apart = {{256, 0, 1}, {256, 2, 3}};
  EXPECT_EQ(place(apart).bytes, 256);
}

TEST(Placement, StackOfActivationsIsPerfect) {
  std::vector<PlacementItem> items;
  for (int i = 0; i < 50; ++i) items.push_back({1000 + i * 777, i, 200 - i});
  EXPECT_EQ(place(items).bytes, peak_live_bytes(items));
}

TEST(Placement, RandomItemsNeverOverlapAndStayNearTheBound) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 30; ++round) {
    std::vector<PlacementItem> items;
    for (int i = 0; i < 300; ++i) {
      const auto first = static_cast<std::int32_t>(random() % 500);
      items.push_back({static_cast<std::int64_t>(1 + random() % 5000), first,
                       first + static_cast<std::int32_t>(random() % (round + 1) * (round % 5))});
    }
    const Placement placement = place(items);
    expect_disjoint(items, placement);
    EXPECT_GE(placement.bytes, peak_live_bytes(items));
    EXPECT_LE(static_cast<double>(placement.bytes), 1.3 * static_cast<double>(peak_live_bytes(items)));
  }
}

TEST(Placement, ManyItems) {  // more than greedy placement by size takes
  std::mt19937_64 random(6);
  std::vector<PlacementItem> items;
  for (int i = 0; i < 50000; ++i) {
    const auto first = static_cast<std::int32_t>(random() % 50000);
    items.push_back({static_cast<std::int64_t>(1 + random() % 100000), first,
                     first + static_cast<std::int32_t>(random() % 40)});
  }
  const Placement placement = place(items);
  expect_disjoint(items, placement);
  EXPECT_LE(static_cast<double>(placement.bytes), 1.5 * static_cast<double>(peak_live_bytes(items)));
}

}  // namespace
}  // namespace swapadvisor
