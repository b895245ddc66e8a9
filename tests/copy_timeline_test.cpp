#include <gtest/gtest.h>
#include <swapadvisor/swap/copy_timeline.h>

namespace swapadvisor {
namespace {

void expect_slot(const CopyTimeline::Slot& slot, double start, std::int32_t step) {
  EXPECT_EQ(slot.start, start);
  EXPECT_EQ(slot.step, step);
}

CopyTimeline::Slot add(CopyTimeline& timeline, std::int32_t step, double earliest, double seconds) {
  const CopyTimeline::Slot slot = timeline.find(step, earliest, seconds);
  timeline.add(slot, seconds);
  return slot;
}

TEST(CopyTimeline, AnEmptyOneStartsAtOnce) {
  CopyTimeline timeline;
  expect_slot(timeline.find(3, 2.5, 4), 2.5, 3);
}

TEST(CopyTimeline, WhatFindsNoPauseComesLastAndIsListedBehindTheOthers) {
  CopyTimeline timeline;
  expect_slot(add(timeline, 5, 1, 4), 1, 5);  // [1, 5)
  expect_slot(add(timeline, 2, 0, 2), 5, 5);  // [5, 7): a pause of 1 second at 0 is too short
  expect_slot(add(timeline, 7, 6, 1), 7, 7);  // [7, 8)
}

TEST(CopyTimeline, APauseIsTakenWithoutMakingAnyoneLater) {
  CopyTimeline timeline;
  add(timeline, 1, 0, 2);                     // [0, 2)
  add(timeline, 9, 10, 2);                    // [10, 12)
  expect_slot(add(timeline, 4, 1, 3), 2, 4);  // [2, 5), though the value was there at 1
  expect_slot(add(timeline, 4, 6, 4), 6, 4);  // [6, 10) fits exactly
  // [5, 6) is free, but between copies that are both listed at 4 there is no place in the list.
  expect_slot(add(timeline, 4, 5, 1), 12, 9);
}

TEST(CopyTimeline, APauseBeforeWhatIsListedEarlierIsOfNoUse) {
  CopyTimeline timeline;
  add(timeline, 3, 10, 2);                     // [10, 12), listed after step 3
  expect_slot(timeline.find(2, 0, 5), 0, 2);   // listed before it
  expect_slot(timeline.find(3, 0, 5), 12, 3);  // would be listed behind it, so it cannot run before it
  expect_slot(timeline.find(8, 4, 1), 12, 8);
}

TEST(CopyTimeline, ClearForgetsAll) {
  CopyTimeline timeline;
  add(timeline, 0, 0, 100);
  timeline.clear();
  expect_slot(timeline.find(0, 0, 1), 0, 0);
}

}  // namespace
}  // namespace swapadvisor
