#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/units.h>

#include <limits>

namespace swapadvisor {
namespace {

template <class Parse>
std::string error_of(Parse parse, const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Units, FormatBytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(1288490189), "1.20 GiB");
  EXPECT_EQ(format_bytes(800LL << 20), "800 MiB");
  EXPECT_EQ(format_bytes((1LL << 30) - 1), "1.00 GiB");  // not "1024 MiB"
  EXPECT_EQ(format_bytes(-2048), "-2.00 KiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::int64_t>::max()), "8.00 EiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::int64_t>::min()), "-8.00 EiB");
}

TEST(Units, FormatSecondsAndBandwidth) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(0.00123), "1.23 ms");
  EXPECT_EQ(format_seconds(45.6), "45.6 s");
  EXPECT_EQ(format_seconds(0.9999), "1.00 s");
  EXPECT_EQ(format_seconds(10e-6), "10.0 µs");
  EXPECT_EQ(format_seconds(2e-10), "0.20 ns");
  EXPECT_EQ(format_seconds(-2), "-2.00 s");
  EXPECT_EQ(format_bandwidth(12e9), "12.0 GB/s");
  EXPECT_EQ(format_bandwidth(999.9e6), "1.00 GB/s");
  EXPECT_EQ(format_bandwidth(1), "1.00 B/s");
}

TEST(Units, ParseSize) {
  EXPECT_EQ(parse_size("15200000000"), 15200000000);
  EXPECT_EQ(parse_size("15.2e9"), 15200000000);
  EXPECT_EQ(parse_size("512MiB"), 512LL << 20);
  EXPECT_EQ(parse_size("1.5GB"), 1500000000);
  EXPECT_EQ(parse_size("1.5 gib"), 3LL << 29);
  EXPECT_EQ(parse_size("2TB"), 2000000000000);
  EXPECT_EQ(parse_size(" 7 b "), 7);
  EXPECT_EQ(parse_size(".5kb"), 500);
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("9223372036854775807"), std::numeric_limits<std::int64_t>::max());  // exact: no double
  EXPECT_EQ(parse_size("9007199254740993"), 9007199254740993);
}

TEST(Units, ParseSizeRefusesAndQuotes) {
  for (const char* text : {"",       "-1",          "-5GB",     "nan",  "inf", "1e400", "9223372036854775808",
                           "9e18KB", "10000000TiB", "5 apples", "5GBs", "GB",  "0x10",  "1,5GB",
                           "5 5",    "1e",          "+5",       "5%",   "5K",  "--5"}) {
    const std::string error = error_of(parse_size, text);
    EXPECT_NE(error.find(std::string("'") + text + "'"), std::string::npos) << text << ": " << error;
  }
}

TEST(Units, FormattedSizesParse) {
  for (std::int64_t bytes : {1LL, 512LL, 3LL << 20, 7LL << 40})
    EXPECT_EQ(parse_size(format_bytes(bytes)), bytes);
}

TEST(Units, ParseBandwidth) {
  EXPECT_DOUBLE_EQ(parse_bandwidth("2GB/s"), 2e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("512 MiB/s"), 512.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(parse_bandwidth("12e9"), 12e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("1.5gb/S"), 1.5e9);
  for (const char* text :
       {"", "0", "0GB/s", "-1GB/s", "nan", "inf", "fast", "2GB/h", "2Gbit/s", "/s", "1e999"})
    EXPECT_NE(error_of(parse_bandwidth, text).find(std::string("'") + text + "'"), std::string::npos) << text;
}

TEST(Units, ParseSizeLimit) {
  const SizeLimit percent = parse_size_limit("40%");
  EXPECT_TRUE(percent.is_percent());
  EXPECT_EQ(percent.resolve(1000), 400);
  EXPECT_EQ(parse_size_limit("12.5 %").resolve(999), 124);  // rounds down
  EXPECT_EQ(parse_size_limit("0%").resolve(999), 0);
  const SizeLimit bytes = parse_size_limit("512MiB");
  EXPECT_FALSE(bytes.is_percent());
  EXPECT_EQ(bytes.resolve(1000), 512LL << 20);
  EXPECT_THROW(parse_size_limit("200%").resolve(std::numeric_limits<std::int64_t>::max()), Error);
  for (const char* text : {"%", "-5%", "nan%", "5%%", "5GB%", "10001%", "40 percent"})
    EXPECT_NE(error_of(parse_size_limit, text).find(std::string("'") + text + "'"), std::string::npos)
        << text;
}

TEST(Units, NeedsShowBytesWhereRoundingHidesTheDifference) {
  EXPECT_EQ(format_need(int64_t{6} << 30, int64_t{2} << 30, "device memory"),
            "needs 6.00 GiB of device memory, limit 2.00 GiB");
  EXPECT_EQ(format_need(4817408, 4817407, "device memory"),
            "needs 4.59 MiB (4817408 bytes) of device memory, limit 4817407 bytes");
}

}  // namespace
}  // namespace swapadvisor
