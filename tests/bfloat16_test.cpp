#include <gtest/gtest.h>
#include <swapadvisor/core/bfloat16.h>

#include <cmath>
#include <limits>

namespace swapadvisor {
namespace {

TEST(BFloat16, WidensExactly) {
  EXPECT_EQ(static_cast<float>(BFloat16::from_bits(0x3f80)), 1.0f);
  EXPECT_EQ(static_cast<float>(BFloat16::from_bits(0xc049)), -3.140625f);
  EXPECT_EQ(static_cast<float>(BFloat16::from_bits(0x0001)), 0x1p-133f);
}

TEST(BFloat16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(BFloat16(1.0f + 0x1p-8f).bits(), 0x3f80);                // a tie: down to even
  EXPECT_EQ(BFloat16(1.0f + 3 * 0x1p-8f).bits(), 0x3f82);            // a tie: up to even
  EXPECT_EQ(BFloat16(1.0f + 0x1p-8f + 0x1p-20f).bits(), 0x3f81);     // above a tie
  EXPECT_EQ(BFloat16(-(1.0f + 0x1p-8f + 0x1p-20f)).bits(), 0xbf81);  // the same, negative
  EXPECT_EQ(BFloat16(-0.0f).bits(), 0x8000);
}

TEST(BFloat16, OverflowIsInfinityAndNanStaysNan) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits(), 0x7f80);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::infinity()).bits(), 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(BFloat16, EveryValueSurvivesARoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto value = BFloat16::from_bits(static_cast<std::uint16_t>(bits));
    if (std::isnan(static_cast<float>(value))) continue;
    ASSERT_EQ(BFloat16(static_cast<float>(value)).bits(), bits);
  }
}

}  // namespace
}  // namespace swapadvisor
