#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/progress.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace swapadvisor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Progress some() {
  Progress progress;
  progress.step = 33;
  progress.total_steps = 78;
  progress.epoch = 0;
  progress.epochs = 2;
  progress.samples_per_second = 512.4;
  progress.loss = 1.23456;
  progress.accuracy = 0.5614;
  progress.device_bytes = 1288490189;
  progress.elapsed_seconds = 66;
  return progress;
}

constexpr const char* plain_line =
    "epoch 1/2  42%  33/78  512 images/s  loss 1.2346  acc 56.1%  device 1.20 GiB  1:06 elapsed, 1:30 left";

TEST(ProgressTest, FormatsOneLine) {
  EXPECT_EQ(format_progress_plain(some()), plain_line);
  EXPECT_EQ(
      format_progress(some(), 124),
      "epoch 1/2  42% [========>           ]  33/78  512 images/s  loss 1.2346  acc 56.1%  device 1.20 GiB  "
      "1:06 elapsed, 1:30 left");
}

TEST(ProgressTest, FitsEveryWidth) {
  for (int columns = 0; columns < 200; ++columns) {
    const std::string line = format_progress(some(), columns);
    EXPECT_LE(std::ssize(line), columns);
    if (columns >= 25) {
      EXPECT_THAT(line, HasSubstr("33/78"));
    }
  }
  EXPECT_EQ(format_progress(some(), 101), plain_line);
  EXPECT_EQ(format_progress(some(), 100), std::string(plain_line).substr(0, 76));
  EXPECT_EQ(format_progress(some(), 40), "epoch 1/2  42%  33/78  512 images/s");
}

TEST(ProgressTest, TheBarIsFullOnlyAtTheEnd) {
  Progress progress = some();
  progress.total_steps = 1000;
  const auto filled = [&](std::int64_t step) {
    progress.step = step;
    const std::string line = format_progress(progress, 200);
    return std::pair(std::count(line.begin(), line.end(), '='), line.substr(10, 4));
  };
  EXPECT_EQ(filled(0), std::pair(std::ptrdiff_t{0}, std::string("  0%")));
  EXPECT_EQ(filled(500), std::pair(std::ptrdiff_t{15}, std::string(" 50%")));
  EXPECT_EQ(filled(999), std::pair(std::ptrdiff_t{29}, std::string(" 99%")));
  EXPECT_EQ(filled(1000), std::pair(std::ptrdiff_t{30}, std::string("100%")));
}

TEST(ProgressTest, SurvivesOddNumbers) {
  Progress progress;
  EXPECT_EQ(format_progress_plain(progress), "  0%  0/0  0.00 images/s  0:00 elapsed, ? left");
  progress.samples_per_second = std::numeric_limits<double>::quiet_NaN();
  progress.loss = std::numeric_limits<double>::quiet_NaN();
  progress.step = 7;
  progress.total_steps = 5;
  EXPECT_EQ(format_progress_plain(progress), "100%  7/5  ? images/s  loss nan  0:00 elapsed, 0:00 left");
}

TEST(ProgressTest, ResumedRunsEstimateFromTheirOwnSteps) {
  Progress progress = some();
  progress.first_step = 60;
  progress.step = 66;
  progress.elapsed_seconds = 12;
  EXPECT_THAT(format_progress_plain(progress), HasSubstr("0:12 elapsed, 0:24 left"));
}

TEST(ProgressTest, FormatsClocks) {
  EXPECT_EQ(format_clock(0), "0:00");
  EXPECT_EQ(format_clock(59.99), "0:59");
  EXPECT_EQ(format_clock(3600), "1:00:00");
  EXPECT_EQ(format_clock(2 * 86400 + 3 * 3600 + 4 * 60 + 5), "2d 03:04:05");
  EXPECT_EQ(format_clock(-1), "?");
  EXPECT_EQ(format_clock(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(format_clock(std::numeric_limits<double>::quiet_NaN()), "?");
}

class ReporterTest : public testing::Test {
 protected:
  std::unique_ptr<ProgressReporter> reporter(ProgressMode mode) {
    return std::make_unique<ProgressReporter>(
        mode, [this](std::string_view text) { written_.emplace_back(text); }, [this] { return columns_; },
        10);
  }
  std::vector<std::string> written_;
  int columns_ = 81;
};

TEST_F(ReporterTest, SilentWritesNothing) {
  {
    const auto r = reporter(ProgressMode::silent);
    r->update(some(), 0);
    r->message("hello");
  }
  EXPECT_THAT(written_, IsEmpty());
}

TEST_F(ReporterTest, LinesComeAtIntervalsAndAtTheEnd) {
  const auto r = reporter(ProgressMode::lines);
  Progress progress = some();
  for (double now : {5.0, 6.0, 14.9, 15.0, 16.0}) r->update(progress, now);
  EXPECT_EQ(written_.size(), 2u);
  progress.step = progress.total_steps;
  r->update(progress, 16.5);
  r->message("done");
  ASSERT_EQ(written_.size(), 4u);
  EXPECT_EQ(written_[0], std::string(plain_line) + "\n");
  EXPECT_THAT(written_[2], HasSubstr("100%"));
  EXPECT_EQ(written_[3], "done\n");
}

TEST_F(ReporterTest, RedrawsOneLineWithinTheTerminal) {
  {
    const auto r = reporter(ProgressMode::redraw);
    r->update(some(), 1);
    r->update(some(), 1.05);  // too soon
    columns_ = 41;
    r->update(some(), 1.2);
    r->message("saved");
    r->update(some(), 2);
  }
  ASSERT_EQ(written_.size(), 6u);
  const std::string wide = format_progress(some(), 80), narrow = format_progress(some(), 40);
  EXPECT_EQ(written_[0], fmt::format("\r{}", wide));
  EXPECT_EQ(written_[1], fmt::format("\r{:<{}}", narrow, wide.size()));
  EXPECT_EQ(written_[2], fmt::format("\r{:{}}\r", "", narrow.size()));
  EXPECT_EQ(written_[3], "saved\n");
  EXPECT_EQ(written_[4], fmt::format("\r{}", narrow));
  EXPECT_EQ(written_[5], "\n");
}

TEST(ProgressTest, QuietIsSilent) {
  EXPECT_EQ(progress_mode(true), ProgressMode::silent);
  EXPECT_NE(progress_mode(false), ProgressMode::silent);
}

}  // namespace
}  // namespace swapadvisor
