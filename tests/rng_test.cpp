#include <gtest/gtest.h>
#include <swapadvisor/core/rng.h>

#include <cmath>
#include <set>

namespace swapadvisor {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, DrawsFollowBlocksOfFour) {
  const RandomStream random{0x299f31d0a4093822, 5, 9};
  for (std::uint32_t block : {0U, 1U, 77U})
    for (std::uint32_t lane = 0; lane < 4; ++lane)
      EXPECT_EQ(random.bits(4 * block + lane), philox({block, 0, 9, 5}, random.seed)[lane]);
  EXPECT_EQ(random.bits(std::uint64_t{4} << 32), philox({0, 1, 9, 5}, random.seed)[0]);
}

TEST(RandomStream, SeedIdAndStepEachChangeTheDraws) {
  std::set<std::uint32_t> firsts;
  for (std::uint64_t seed : {1, 2})
    for (std::uint32_t id : {1, 2})
      for (std::uint32_t step : {1, 2}) firsts.insert(RandomStream{seed, id, step}.bits(0));
  EXPECT_EQ(firsts.size(), 8U);
}

TEST(RandomStream, UniformHasTheRightMoments) {
  const RandomStream random{1, 2, 3};
  constexpr int n = 100'000;
  double sum = 0, squares = 0, least = 1, most = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform(static_cast<std::uint64_t>(i));
    sum += u, squares += u * u, least = std::min(least, u), most = std::max(most, u);
  }
  EXPECT_GT(least, 0);
  EXPECT_LT(most, 1);
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
}

TEST(RandomStream, NormalHasTheRightMoments) {
  const RandomStream random{1, 2, 3};
  constexpr int n = 100'000;
  double sum = 0, squares = 0, cubes = 0, fourth = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal(static_cast<std::uint64_t>(i));
    sum += x, squares += x * x, cubes += x * x * x, fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(1.0 / n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(cubes / n, 0, 5 * std::sqrt(15.0 / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96.0 / n));
}

TEST(RandomStream, BelowCoversItsRangeEvenly) {
  const RandomStream random{4, 0, 0};
  constexpr std::uint32_t sides = 7, n = 70'000;
  std::array<int, sides> counts{};
  for (std::uint32_t i = 0; i < n; ++i) ++counts.at(random.below(i, sides));
  for (int count : counts) EXPECT_NEAR(count, n / sides, 5 * std::sqrt(n / sides));
}

// Published FNV-1a test vectors.
TEST(HashName, KnownAnswers) {
  EXPECT_EQ(hash_name(""), 0xcbf29ce484222325U);
  EXPECT_EQ(hash_name("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(hash_name("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace swapadvisor
