// The stand-in itself: when work runs, and what its hazard checker says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "marked_streams.h"

namespace swapadvisor::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(StandinSchedule, AtOnceRunsWhenQueued) {
  Streams s;
  std::vector<int> list;
  const Marker one(list, 1), two(list, 2);
  s.compute.launch(one, {});
  EXPECT_EQ(list, (std::vector<int>{1}));
  s.in.launch(two, {});
  EXPECT_EQ(list, (std::vector<int>{1, 2}));
}

TEST(StandinSchedule, LateRunsOnlyWhatTheHostWaitsFor) {
  Streams s;
  standin().configure(standin_late, standin_forward, 1);
  std::vector<int> list;
  const Marker one(list, 1), two(list, 2), three(list, 3), four(list, 4);
  const auto first = s.device.make_event(), second = s.device.make_event();
  s.in.launch(one, {});
  s.in.record(*first);
  s.in.launch(two, {});
  s.compute.wait(*first);
  s.compute.launch(three, {});
  s.compute.record(*second);
  s.out.launch(four, {});
  EXPECT_TRUE(list.empty());
  second->synchronize();
  EXPECT_EQ(list, (std::vector<int>{1, 3})) << "neither what follows the record nor the stream beside";
  s.device.synchronize();
  EXPECT_EQ(list.size(), 4u);
}

TEST(StandinSchedule, AWaitIsForTheRecordThatWasLatestWhenItWasQueued) {
  Streams s;
  standin().configure(standin_late, standin_forward, 1);
  std::vector<int> list;
  const Marker one(list, 1), two(list, 2), three(list, 3);
  const auto event = s.device.make_event();
  s.in.launch(one, {});
  s.in.record(*event);
  s.compute.wait(*event);
  s.in.launch(two, {});
  s.in.record(*event);
  s.compute.launch(three, {});
  s.compute.synchronize();
  EXPECT_EQ(list, (std::vector<int>{1, 3}));
  s.device.synchronize();
}

TEST(StandinSchedule, RandomOrdersDifferByTheSeedAndRepeatWithIt) {
  std::vector<std::vector<int>> orders;
  for (const std::uint32_t seed : {1, 2, 3, 4, 1, 2, 3, 4}) {
    Streams s;
    standin().configure(standin_random, standin_forward, seed);
    std::vector<int> list;
    std::vector<std::unique_ptr<Marker>> markers;
    for (int i = 0; i < 30; ++i) {
      markers.push_back(std::make_unique<Marker>(list, i));
      s.device.stream(static_cast<StreamKind>(i % 3)).launch(*markers.back(), {});
    }
    s.device.synchronize();
    EXPECT_EQ(list.size(), 30u);
    for (int stream = 0; stream < 3; ++stream) {
      std::vector<int> own;
      std::copy_if(list.begin(), list.end(), std::back_inserter(own), [&](int i) { return i % 3 == stream; });
      EXPECT_TRUE(std::is_sorted(own.begin(), own.end())) << "a stream runs in order";
    }
    orders.push_back(list);
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(orders[i], orders[i + 4]);
  EXPECT_NE(orders[0], orders[1]);
}

TEST(StandinSchedule, ThreadsRunStreamsBesideEachOtherInOrder) {
  Streams s;
  standin().configure(standin_threads, standin_forward, 5);
  std::vector<int> lists[3];
  std::vector<std::unique_ptr<Marker>> markers;
  for (int i = 0; i < 60; ++i) {
    markers.push_back(std::make_unique<Marker>(lists[i % 3], i));
    s.device.stream(static_cast<StreamKind>(i % 3)).launch(*markers.back(), {});
  }
  s.device.synchronize();
  for (const auto& list : lists) {
    EXPECT_EQ(list.size(), 20u);
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
  }
  standin().configure(standin_at_once, standin_forward, 1);
}

TEST(StandinHazards, ReportsConflictsThatNothingOrders) {
  for (const int schedule : {standin_at_once, standin_late, standin_random, standin_threads})
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      Streams s;
      standin().configure(schedule, standin_forward, seed);
      s.in.copy(s.arena, s.host->data(), 1024);
      EXPECT_EQ(standin().faults(), 0) << first_fault();
      s.out.copy(s.host->data() + 2048, s.arena + 512, 1024);
      EXPECT_EQ(standin().faults(), 1) << "schedule " << schedule << ", seed " << seed;
      EXPECT_THAT(first_fault(), AllOf(HasSubstr("'copy to the host'"), HasSubstr("reads 512 bytes"),
                                       HasSubstr("'copy to the device'"), HasSubstr("which writes there")));
      s.device.synchronize();
    }
}

TEST(StandinHazards, EventsOrderAlsoThroughOtherStreams) {
  Streams s;
  const auto first = s.device.make_event(), second = s.device.make_event();
  s.in.copy(s.arena, s.host->data(), 1024);
  s.in.record(*first);
  s.compute.wait(*first);
  s.compute.record(*second);
  s.out.wait(*second);
  s.out.copy(s.host->data() + 2048, s.arena, 1024);
  EXPECT_EQ(standin().faults(), 0) << first_fault();
  s.in.copy(s.arena, s.host->data(), 1024);
  EXPECT_EQ(standin().faults(), 1) << "nothing orders this write after the read";
}

TEST(StandinHazards, AnEventOrdersOnlyWhatWasBeforeItsRecord) {
  Streams s;
  const auto event = s.device.make_event();
  s.in.record(*event);
  s.in.copy(s.arena, s.host->data(), 256);
  s.compute.wait(*event);
  s.compute.fill(s.arena, 0, 256);
  EXPECT_EQ(standin().faults(), 1);
}

TEST(StandinHazards, TwoReadsAreNoConflictAndWhatTheHostWaitedForIsOver) {
  Streams s;
  s.compute.copy(s.host->data(), s.arena, 256);
  s.out.copy(s.host->data() + 256, s.arena, 256);
  EXPECT_EQ(standin().faults(), 0) << first_fault();
  s.compute.synchronize();
  s.in.copy(s.arena, s.host->data() + 512, 256);
  EXPECT_EQ(standin().faults(), 1) << "the host waited for one of two readers";
  s.device.synchronize();
  standin().clear_faults();
  s.out.copy(s.host->data(), s.arena, 256);
  EXPECT_EQ(standin().faults(), 0) << first_fault();
}

TEST(StandinHazards, HostMemoryCountsToo) {
  Streams s;
  s.out.copy(s.host->data(), s.arena, 256);
  s.in.copy(s.arena + 1024, s.host->data() + 255, 1);
  EXPECT_EQ(standin().faults(), 1);
  standin().host_access(s.host->data(), 256, 0);
  EXPECT_EQ(standin().faults(), 2) << "the host looks at what is still on its way";
  s.device.synchronize();
  standin().host_access(s.host->data(), 256, 1);
  EXPECT_EQ(standin().faults(), 2) << first_fault();
  s.out.copy(s.host->data(), s.arena, 256);
  EXPECT_EQ(standin().faults(), 2) << "queued after the host's write";
}

}  // namespace
}  // namespace swapadvisor::test
