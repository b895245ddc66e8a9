#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/train/schedule.h>

#include <cmath>

#include "temporary_folder.h"

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

double rate(std::string_view schedule, std::int64_t step, std::int64_t warmup = 0) {
  return learning_rate(parse_schedule(schedule),
                       {.base_rate = 2, .warmup_steps = warmup, .total_steps = 100, .steps_per_epoch = 10},
                       step);
}

TEST(ScheduleTest, Constant) {
  for (std::int64_t step : {0, 1, 99, 100000}) EXPECT_EQ(rate("constant", step), 2);
}

TEST(ScheduleTest, StepFallsAtItsEpochs) {
  EXPECT_EQ(rate("step:3,6", 0), 2);
  EXPECT_EQ(rate("step:3,6", 29), 2);
  EXPECT_DOUBLE_EQ(rate("step:3,6", 30), 0.2);
  EXPECT_DOUBLE_EQ(rate("step:3,6", 59), 0.2);
  EXPECT_DOUBLE_EQ(rate("step:3,6", 60), 0.02);
  EXPECT_EQ(rate("step:1.1:0.5", 10), 2);
  EXPECT_EQ(rate("step:1.1:0.5", 11), 1);
}

TEST(ScheduleTest, CosineFallsFromBaseToMinimum) {
  EXPECT_EQ(rate("cosine", 0), 2);
  EXPECT_DOUBLE_EQ(rate("cosine", 25), 1 + std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(rate("cosine", 50), 1);
  EXPECT_NEAR(rate("cosine", 100), 0, 1e-15);
  EXPECT_NEAR(rate("cosine", 150), 0, 1e-15);
  EXPECT_DOUBLE_EQ(rate("cosine:0.5", 50), 1.5);
  EXPECT_DOUBLE_EQ(rate("cosine:0.5", 100), 1);
}

TEST(ScheduleTest, LinearFallsFromBaseToMinimum) {
  EXPECT_EQ(rate("linear", 0), 2);
  EXPECT_DOUBLE_EQ(rate("linear", 25), 1.5);
  EXPECT_EQ(rate("linear", 100), 0);
  EXPECT_EQ(rate("linear", 101), 0);
  EXPECT_DOUBLE_EQ(rate("linear:0.1", 100), 0.2);
}

TEST(ScheduleTest, WarmUpRisesToTheBaseRateAndShortensTheDecay) {
  for (const char* schedule : {"constant", "cosine", "linear", "step:5"}) {
    EXPECT_DOUBLE_EQ(rate(schedule, 0, 20), 0.1) << schedule;
    EXPECT_DOUBLE_EQ(rate(schedule, 9, 20), 1) << schedule;
    EXPECT_DOUBLE_EQ(rate(schedule, 19, 20), 2) << schedule;
    EXPECT_DOUBLE_EQ(rate(schedule, 20, 20), 2) << schedule;
  }
  EXPECT_DOUBLE_EQ(rate("linear", 60, 20), 1);
  EXPECT_DOUBLE_EQ(rate("cosine", 60, 20), 1);
  EXPECT_DOUBLE_EQ(rate("step:5", 50, 20), 0.2);
}

TEST(ScheduleTest, WarmUpLongerThanTheRun) {
  EXPECT_DOUBLE_EQ(rate("cosine", 99, 200), 1);
  EXPECT_DOUBLE_EQ(rate("cosine", 200, 200), 2);
}

TEST(ScheduleTest, ParsesEveryPart) {
  const Schedule schedule = parse_schedule("step:30,60.5,80:0.2");
  EXPECT_EQ(schedule.kind, Schedule::Kind::step);
  EXPECT_THAT(schedule.milestones, ElementsAre(30, 60.5, 80));
  EXPECT_EQ(schedule.factor, 0.2);
  EXPECT_EQ(parse_schedule("step:1").factor, 0.1);
  EXPECT_EQ(parse_schedule("linear:0.25").minimum, 0.25);
}

TEST(ScheduleTest, SaysWhatIsWrongWithTheText) {
  const auto error_of = [](std::string_view text) {
    return message_of<Error>([&] { parse_schedule(text); });
  };
  EXPECT_THAT(error_of("cosin"), AllOf(HasSubstr("'cosin'"), HasSubstr("constant, step:")));
  EXPECT_THAT(error_of(""), HasSubstr("unknown learning-rate schedule ''"));
  EXPECT_THAT(error_of("constant:1"), HasSubstr("unknown"));
  EXPECT_THAT(error_of("step"), HasSubstr("expected step:EPOCH"));
  EXPECT_THAT(error_of("step:1:2:3"), HasSubstr("expected step:EPOCH"));
  EXPECT_THAT(error_of("step:"), HasSubstr("'' is not a number"));
  EXPECT_THAT(error_of("step:1,,2"), HasSubstr("'' is not a number"));
  EXPECT_THAT(error_of("step:1,2x"), HasSubstr("'2x' is not a number"));
  EXPECT_THAT(error_of("step:0"), HasSubstr("epoch 0 must be more than 0"));
  EXPECT_THAT(error_of("step:60,30"), HasSubstr("epoch 30 does not come after 60"));
  EXPECT_THAT(error_of("step:1:0"), HasSubstr("factor must be more than 0"));
  EXPECT_THAT(error_of("step:inf"), HasSubstr("'inf' is not a number"));
  EXPECT_THAT(error_of("cosine:2"), HasSubstr("from 0 to 1, got 2"));
  EXPECT_THAT(error_of("linear:-0.1"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(error_of("linear:0:1"), HasSubstr("expected linear:MINIMUM at most"));
}

}  // namespace
}  // namespace swapadvisor
