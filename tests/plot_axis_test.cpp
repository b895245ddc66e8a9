#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/plot_axis.h>

#include <cmath>

namespace swapadvisor {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

AxisRange range_of(std::initializer_list<double> values) {
  AxisRange range;
  for (double value : values) range.include(value);
  range.settle();
  return range;
}

TEST(PlotAxis, RangesHoldFiniteValuesOnlyAndHaveAnExtent) {
  const double inf = std::numeric_limits<double>::infinity();
  const AxisRange some = range_of({3, std::nan(""), -1, inf, -inf});
  EXPECT_EQ(some.low, -1);
  EXPECT_EQ(some.high, 3);
  EXPECT_EQ(some.share(1), 0.5);
  const AxisRange none = range_of({inf});
  EXPECT_EQ(none.low, 0);
  EXPECT_EQ(none.high, 1);
  for (double value : {0.0, 7.0, -7.0, 1e18, -1e18, 1e300}) {
    const AxisRange one = range_of({value, value});
    EXPECT_LT(one.low, value);
    EXPECT_GT(one.high, value);
    EXPECT_TRUE(std::isfinite(one.share(value))) << value;
  }
}

TEST(PlotAxis, StepsAreRoundAndAboutAsManyAsWanted) {
  EXPECT_EQ(tick_step(10, 10), 1);
  EXPECT_EQ(tick_step(11, 10), 2);
  EXPECT_EQ(tick_step(100, 5), 20);
  EXPECT_EQ(tick_step(100, 3), 50);
  EXPECT_EQ(tick_step(100, 1), 100);
  EXPECT_NEAR(tick_step(0.03, 5), 0.01, 1e-15);
  EXPECT_EQ(tick_step(2, 8, 1), 1) << "the least";
  for (double span = 1e-9; span < 1e12; span *= 1.37) {
    const double steps = span / tick_step(span, 6);
    EXPECT_LE(steps, 6.001);
    EXPECT_GE(steps, 2.3);
  }
}

TEST(PlotAxis, TicksAreMultiplesWithinTheRange) {
  EXPECT_THAT(ticks(range_of({-25, 110}), 5), ElementsAre(0, 50, 100));
  EXPECT_THAT(ticks(range_of({0, 1}), 5),
              ElementsAre(0, DoubleNear(0.2, 1e-12), DoubleNear(0.4, 1e-12), DoubleNear(0.6, 1e-12),
                          DoubleNear(0.8, 1e-12), DoubleNear(1, 1e-12)))
      << "both ends, in spite of rounding";
  const std::vector<double> through_zero = ticks(range_of({-0.3, 0.3}), 6);
  EXPECT_EQ(std::count(through_zero.begin(), through_zero.end(), 0.0), 1);
  EXPECT_THAT(ticks(range_of({1, 3}), 8, 1), ElementsAre(1, 2, 3));
}

TEST(PlotAxis, NoRangeGivesEndlessTicks) {
  for (double high : {1e-300, 1.0, 1e18, 1e300, std::numeric_limits<double>::max()})
    for (double low : {-high, 0.0, high * (1 - 1e-13)}) {
      const std::vector<double> marks = ticks(range_of({low, high}), 6);
      EXPECT_LE(marks.size(), 14u);
      for (double mark : marks) EXPECT_TRUE(std::isfinite(mark));
    }
}

}  // namespace
}  // namespace swapadvisor
