#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/memory/device_host_store.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace swapadvisor {
namespace {

TEST(CpuDevice, StreamsRunApartAndInOrder) {
  const auto device = make_cpu_device({.threads = 1});
  std::atomic<bool> released{false}, finished{false};
  const auto blocked = make_kernel([&](const KernelArgs&) {
    while (!released) std::this_thread::yield();
    finished = true;
  });
  const KernelArgs args;
  std::byte* arena = device->arena(4096);
  auto host = device->host_alloc(4096);
  std::memset(host->data(), 7, 4096);
  device->stream(StreamKind::compute).launch(*blocked, args);
  device->stream(StreamKind::in).copy(arena, host->data(), 4096);
  device->stream(StreamKind::in).synchronize();  // while compute is still blocked
  EXPECT_EQ(std::to_integer<int>(arena[4095]), 7);
  EXPECT_FALSE(finished);
  released = true;
  device->synchronize();
  EXPECT_TRUE(finished);
}

TEST(CpuDevice, EventsOrderStreams) {
  const auto device = make_cpu_device({.threads = 1});
  std::byte* arena = device->arena(4096);
  auto host = device->host_alloc(4096);
  auto event = device->make_event();
  for (int round = 1; round < 200; ++round) {
    const auto write = make_kernel([&](const KernelArgs&) { std::memset(arena, round, 4096); });
    const KernelArgs args;
    device->stream(StreamKind::compute).launch(*write, args);
    device->stream(StreamKind::compute).record(*event);
    device->stream(StreamKind::out).wait(*event);
    device->stream(StreamKind::out).copy(host->data(), arena, 4096);
    device->synchronize();
    ASSERT_EQ(std::to_integer<int>(host->data()[100]), round % 256);
  }
}

TEST(CpuDevice, AWaitMeansTheRecordBeforeIt) {
  const auto device = make_cpu_device({.threads = 1});
  auto event = device->make_event();
  std::atomic<bool> released{false};
  const auto blocked = make_kernel([&](const KernelArgs&) {
    while (!released) std::this_thread::yield();
  });
  const KernelArgs args;
  Stream& compute = device->stream(StreamKind::compute);
  compute.record(*event);
  device->stream(StreamKind::in).wait(*event);  // the first record, not the one below
  compute.launch(*blocked, args);
  compute.record(*event);
  device->stream(StreamKind::in).synchronize();
  released = true;
  device->synchronize();
}

TEST(CpuDevice, ThePacedLinkTakesItsTime) {
  const auto device = make_cpu_device({.threads = 1, .link_bytes_per_second = 64e6});
  constexpr std::int64_t bytes = 4 << 20;
  std::byte* arena = device->arena(bytes);
  auto host = device->host_alloc(bytes);
  auto start = device->make_event(), end = device->make_event();
  Stream& in = device->stream(StreamKind::in);
  in.record(*start);
  in.copy(arena, host->data(), bytes);
  in.record(*end);
  in.synchronize();
  // Never faster than the link; how much slower depends on the machine's load.
  EXPECT_GE(end->seconds() - start->seconds(), 0.999 * bytes / 64e6);
  EXPECT_EQ(device->link_limit(), 64e6);
}

TEST(CpuDevice, KernelExceptionsAreRethrownOnce) {
  const auto device = make_cpu_device({.threads = 1});
  const auto broken = make_kernel([](const KernelArgs&) { throw Error("broken"); });
  const KernelArgs args;
  device->stream(StreamKind::compute).launch(*broken, args);
  EXPECT_THROW(device->synchronize(), Error);
  EXPECT_NO_THROW(device->synchronize());
}

TEST(CpuDevice, RefusesWhatCannotBe) {
  EXPECT_THROW(make_cpu_device({.threads = -1}), Error);
  EXPECT_THROW(make_cpu_device({.threads = 1, .link_bytes_per_second = -1}), Error);
  const auto device = make_cpu_device({.threads = 1});
  EXPECT_THROW(device->arena(std::int64_t{1} << 55), Error);
  EXPECT_THROW(device->host_alloc(std::int64_t{1} << 55), Error);
  EXPECT_EQ(make_cpu_device({.threads = 1, .memory_bytes = 12345})->free_bytes(), 12345);
}

TEST(DeviceHostStore, SlotsAreFoundByNameAndPagesCount) {
  const auto device = make_cpu_device({.threads = 1});
  DeviceHostStore host(*device, 3 * page_bytes);
  const auto a = host.reserve("a", 10);
  EXPECT_EQ(a.size(), 10u);
  EXPECT_EQ(std::to_integer<int>(a[9]), 0);
  EXPECT_EQ(host.reserve("a", 10).data(), a.data());
  EXPECT_EQ(host.bytes(), page_bytes);
  host.reserve("b", page_bytes + 1);
  EXPECT_EQ(host.bytes(), 3 * page_bytes);
  EXPECT_THROW(host.reserve("c", 1), Error);
  EXPECT_THROW(host.reserve("a", 11), Error);
  EXPECT_TRUE(host.find("c").empty());
  EXPECT_EQ(host.find("b").size(), static_cast<std::size_t>(page_bytes) + 1);
}

}  // namespace
}  // namespace swapadvisor
