// The CUDA device on the stand-in: memory, copies, events, failures.
#include <expect_error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/memory/device_host_store.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

using testing::HasSubstr;

TEST(CudaDevice, CopiesThereAndBack) {
  const Backend backend = open_standin();
  Device& device = *backend.device;
  std::byte* arena = device.arena(4096);
  const auto from = device.host_alloc(1000), to = device.host_alloc(1000);
  for (int i = 0; i < 1000; ++i) from->data()[i] = static_cast<std::byte>(i * 7);
  const auto copied = device.make_event();
  device.stream(StreamKind::in).copy(arena + 256, from->data(), 1000);
  device.stream(StreamKind::in).record(*copied);
  device.stream(StreamKind::out).wait(*copied);
  device.stream(StreamKind::out).copy(to->data(), arena + 256, 1000);
  device.stream(StreamKind::out).synchronize();
  EXPECT_EQ(std::memcmp(from->data(), to->data(), 1000), 0);
  EXPECT_EQ(standin().faults(), 0) << first_fault();
}

TEST(CudaDevice, TheArenaIsExactlyTheBytesAskedForAndOnlyGrows) {
  const Backend backend = open_standin();
  Device& device = *backend.device;
  const std::int64_t before = standin().device_bytes(), free = device.free_bytes();
  std::byte* first = device.arena(123456);
  EXPECT_EQ(standin().device_bytes() - before, 123456);
  EXPECT_EQ(device.arena_bytes(), 123456);
  EXPECT_EQ(device.free_bytes(), free) << "the arena itself counts as free for an arena";
  EXPECT_EQ(device.arena(1000), first);
  std::byte* second = device.arena(200000);
  EXPECT_NE(second, first) << "memory is never handed out twice";
  EXPECT_EQ(standin().device_bytes() - before, 200000);
}

TEST(CudaDevice, HostMemoryIsZeroedPageRoundedAndGivenBack) {
  const Backend backend = open_standin();
  const std::int64_t before = standin().pinned_bytes();
  {
    const auto memory = backend.device->host_alloc(5000);
    EXPECT_EQ(memory->bytes(), 8192) << "pages, not powers of two";
    EXPECT_EQ(standin().pinned_bytes() - before, 8192);
    for (std::int64_t i = 0; i < memory->bytes(); ++i) ASSERT_EQ(memory->data()[i], std::byte{0});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 4096, 0u);
  }
  EXPECT_EQ(standin().pinned_bytes(), before);
}

TEST(CudaDevice, WhatCannotBePinnedIsPageableWithOneWarning) {
  std::vector<std::string> warnings;
  CudaOptions options;
  options.warn = [&](const std::string& sentence) { warnings.push_back(sentence); };
  const Backend backend = open_standin(options);
  standin().set_memory(-1, standin().pinned_bytes() + 4096);
  DeviceHostStore store(*backend.device, 20 * 4096);
  const auto a = store.reserve("a", 4096), b = store.reserve("b", 4096), c = store.reserve("c", 8192);
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings.at(0), HasSubstr("could not be pinned"));
  EXPECT_EQ(store.bytes(), 16384) << "pageable memory counts against the host limit like any other";
  EXPECT_THROW(store.reserve("d", 17 * 4096), Error);
  std::byte* arena = backend.device->arena(8192);
  std::memset(b.data(), 5, b.size());
  Stream& in = backend.device->stream(StreamKind::in);
  in.copy(arena, b.data(), 4096);
  in.copy(c.data(), arena, 4096);
  in.synchronize();
  EXPECT_EQ(c[4095], std::byte{5});
}

TEST(CudaDevice, OutOfMemoryIsOneSentenceAndNotTheEnd) {
  const Backend backend = open_standin();
  standin().set_memory(standin().device_bytes() + 100000, -1);
  EXPECT_THAT(message_of([&] { backend.device->arena(100001); }),
              testing::AllOf(HasSubstr("needs 100001 bytes"), HasSubstr("100000 free")));
  EXPECT_NE(backend.device->arena(100000), nullptr);
}

TEST(CudaDevice, AMissingDriverOrGpuIsOneSentence) {
  open_standin();
  standin().set_driver(0);
  EXPECT_THAT(message_of([] { open_cuda({}); }), HasSubstr("cudaErrorInsufficientDriver"));
  standin().set_driver(1);
  EXPECT_THAT(message_of([] { open_cuda({.index = 3}); }), HasSubstr("there is no GPU 3"));
  EXPECT_THROW(open_cuda({.index = -1}), Error);
}

TEST(CudaDevice, EventsTellTimesOnOneClock) {
  for (const int schedule : {standin_at_once, standin_late, standin_random, standin_threads}) {
    const Backend backend = open_standin();
    standin().configure(schedule, standin_forward, 3);
    Device& device = *backend.device;
    std::byte* arena = device.arena(1 << 20);
    const auto host = device.host_alloc(1 << 20);
    std::vector<std::unique_ptr<Event>> events;
    Stream& in = device.stream(StreamKind::in);
    Stream& out = device.stream(StreamKind::out);
    for (int i = 0; i < 5; ++i) {
      Stream& stream = i % 2 == 0 ? in : out;
      if (i > 0) stream.wait(*events.back());
      if (i % 2 == 0)
        stream.copy(arena, host->data(), 1 << 20);
      else
        stream.copy(host->data(), arena, 1 << 20);
      events.push_back(device.make_event());
      stream.record(*events.back());
    }
    events.back()->synchronize();
    double previous = 0;
    for (const auto& event : events) {
      EXPECT_GE(event->seconds(), previous) << "schedule " << schedule;
      previous = event->seconds();
    }
    EXPECT_EQ(standin().faults(), 0) << first_fault();
  }
}

TEST(CudaDevice, AnEventNeverRecordedHoldsNobodyUp) {
  const Backend backend = open_standin();
  standin().configure(standin_late, standin_forward, 1);
  const auto event = backend.device->make_event();
  event->synchronize();
  Stream& stream = backend.device->stream(StreamKind::compute);
  stream.wait(*event);
  stream.fill(backend.device->arena(256), 1, 256);
  stream.synchronize();
}

TEST(CudaDevice, EventsFromThePoolForgetWhatTheyWere) {
  const Backend backend = open_standin();
  standin().configure(standin_late, standin_forward, 1);
  Device& device = *backend.device;
  std::byte* arena = device.arena(512);
  {
    const auto old = device.make_event();
    device.stream(StreamKind::in).fill(arena, 1, 256);
    device.stream(StreamKind::in).record(*old);
  }
  const auto event = device.make_event();  // the same one of CUDA, still to be reached
  device.stream(StreamKind::out).wait(*event);
  device.stream(StreamKind::out).fill(arena, 2, 256);
  EXPECT_GT(standin().faults(), 0) << "the wait is for nothing, so that the fills race";
  device.synchronize();
}

TEST(CudaDevice, ACopyIsBetweenHostAndArena) {
  const Backend backend = open_standin();
  std::byte* arena = backend.device->arena(1024);
  const auto host = backend.device->host_alloc(1024);
  Stream& in = backend.device->stream(StreamKind::in);
  EXPECT_THROW(in.copy(arena, host->data(), 2048), Error) << "beyond the arena";
}

TEST(CudaDeviceDeathTest, TheHostCannotTouchDeviceMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const Backend backend = open_standin();
        std::byte* arena = backend.device->arena(4096);
        arena[0] = std::byte{1};
      },
      "");
}

TEST(CudaDeviceDeathTest, WorkBehindTheEndOfTheArenaIsStopped) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const Backend backend = open_standin();
        std::byte* arena = backend.device->arena(4096);
        Stream& stream = backend.device->stream(StreamKind::compute);
        struct Behind final : Kernel {
          void run(NativeStream native, const KernelArgs& args) const override {
            standin().call(
                native, [](void* end) { *static_cast<char*>(end) = 1; }, args.out<char>(0) + 4096);
          }
        } kernel;
        void* outputs[] = {arena};
        stream.launch(kernel, {{}, outputs, nullptr});
        stream.synchronize();
      },
      "");
}

}  // namespace
}  // namespace swapadvisor::test
