// A real GPU: whatever `open_cuda` finds when the tests start. Without one these tests skip, or fail where
// SWAPADVISOR_REQUIRE_GPU=1. Lines that begin with "[ gpu" are figures for scripts/gpu_check.sh.
#include "gpu.h"

#include <gtest/gtest.h>
#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/matmul.h>
#include <swapadvisor/swap/launch_costs.h>

#include <algorithm>
#include <cstring>
#include <iostream>

#include "training_run.h"

namespace swapadvisor::test {
namespace {

TEST_F(Gpu, CopiesArriveAndEventsOrderStreams) {
  constexpr std::int64_t bytes = 1 << 20;
  std::byte* arena = device().arena(bytes);
  const auto from = device().host_alloc(bytes), to = device().host_alloc(bytes);
  for (int round = 0; round < 20; ++round) {
    std::memset(from->data(), round + 1, bytes);
    const auto copied = device().make_event();
    device().stream(StreamKind::in).copy(arena, from->data(), bytes);
    device().stream(StreamKind::in).record(*copied);
    device().stream(StreamKind::out).wait(*copied);
    device().stream(StreamKind::out).copy(to->data(), arena, bytes);
    device().stream(StreamKind::out).synchronize();
    ASSERT_EQ(std::memcmp(from->data(), to->data(), bytes), 0) << "round " << round;
  }
}

TEST_F(Gpu, MoreThanThereIsIsOneSentence) {
  const std::int64_t too_much = device().free_bytes() + (std::int64_t{1} << 40);
  EXPECT_THROW(device().arena(too_much), Error);
  EXPECT_NE(device().arena(1 << 20), nullptr);
}

/// Seconds on the device's clock from the first start to the last end of what `queue` queues on the streams.
template <class Queue>
double seconds_of(Device& device, const Queue& queue) {
  device.synchronize();
  std::vector<std::unique_ptr<Event>> events;
  const auto record = [&](StreamKind kind) {
    events.push_back(device.make_event());
    device.stream(kind).record(*events.back());
  };
  const StreamKind kinds[] = {StreamKind::compute, StreamKind::in, StreamKind::out};
  for (const StreamKind kind : kinds) record(kind);
  queue();
  for (const StreamKind kind : kinds) record(kind);
  device.synchronize();
  double first = events[0]->seconds(), last = 0;
  for (std::size_t i = 0; i < 3; ++i) first = std::min(first, events[i]->seconds());
  for (std::size_t i = 3; i < 6; ++i) last = std::max(last, events[i]->seconds());
  return last - first;
}

TEST_F(Gpu, LinkAndOverlap) {
  const bool small = variable("SWAPADVISOR_GPU_CHECK_SMALL") == "1";  // for the stand-in
  const std::int64_t block = small ? 1 << 16 : 64 << 20, n = small ? 32 : 2048;
  const int copies = small ? 4 : 16;
  Graph graph("g");
  const TensorSpec square = TensorSpec::dense(DType::f32, {n, n});
  const Tensor a = graph.input("a", square), b = graph.input("b", square);
  matmul(a, b);
  const auto prepared = prepare_kernels(graph, kernels(), {device().threads(), 1});
  const std::int64_t matrix = round_up(square.bytes(), arena_alignment);
  std::byte* arena = device().arena(2 * block + 3 * matrix + prepared[0]->workspace_bytes());
  std::byte* operands = arena + 2 * block;
  const void* inputs[] = {operands, operands + matrix};
  void* outputs[] = {operands + 2 * matrix};
  const KernelArgs args{inputs, outputs, operands + 3 * matrix};
  const auto pinned_in = device().host_alloc(block), pinned_out = device().host_alloc(block);
  std::vector<std::byte> pageable(static_cast<std::size_t>(block), std::byte{1});
  const auto copy_in = [&](const void* from) {
    for (int i = 0; i < copies; ++i) device().stream(StreamKind::in).copy(arena, from, block);
  };
  const auto copy_out = [&](void* to) {
    for (int i = 0; i < copies; ++i) device().stream(StreamKind::out).copy(to, arena + block, block);
  };
  Stream& compute = device().stream(StreamKind::compute);
  compute.fill(operands, 0, 3 * matrix);
  const auto multiply = [&](int times) {
    for (int i = 0; i < times; ++i) compute.launch(*prepared[0], args);
  };
  const double bytes = static_cast<double>(block) * copies;
  const auto report = [&](const char* what, double seconds) {
    EXPECT_GT(seconds, 0);
    std::cout << fmt::format("[ gpu link ] {}: {:.2f} GB/s\n", what, bytes / seconds / 1e9);
    return seconds;
  };
  copy_in(pinned_in->data());
  copy_out(pinned_out->data());
  multiply(3);
  const double in = report("pinned to device", seconds_of(device(), [&] { copy_in(pinned_in->data()); }));
  const double out = report("pinned to host", seconds_of(device(), [&] { copy_out(pinned_out->data()); }));
  report("pageable to device", seconds_of(device(), [&] { copy_in(pageable.data()); }));
  report("pageable to host", seconds_of(device(), [&] { copy_out(pageable.data()); }));
  const double once = seconds_of(device(), [&] { multiply(5); }) / 5;
  const int times =
      std::clamp(static_cast<int>(std::max(in, out) / std::max(once, 1e-9)), 1, small ? 3 : 100000);
  const double alone = seconds_of(device(), [&] { multiply(times); });
  const double together = seconds_of(device(), [&] {
    multiply(times);
    copy_in(pinned_in->data());
    copy_out(pinned_out->data());
  });
  const double longest = std::max({alone, in, out});
  std::cout << fmt::format(
      "[ gpu overlap ] compute {:.2f} ms, in {:.2f} ms, out {:.2f} ms; all three {:.2f} ms: {:.0f} % of "
      "what can overlap does\n",
      alone * 1e3, in * 1e3, out * 1e3, together * 1e3,
      100 * (alone + in + out - together) / (alone + in + out - longest));
}

TEST_F(Gpu, LaunchCosts) {
  auto& capture = dynamic_cast<Capture&>(device());
  const LaunchCosts costs = measure_launch_costs(device(), capture);
  EXPECT_GT(costs.stream_seconds, 0);
  std::cout << fmt::format(
      "[ gpu link ] a launch from a stream {:.2f} us, a node of a graph {:.2f} us, a graph {:.2f} us\n",
      costs.stream_seconds * 1e6, costs.node_seconds * 1e6, costs.launch_seconds * 1e6);
}

TEST_F(Gpu, TrainingHasTheSameBitsWithAndWithoutALimitAndTheCpusNumbers) {
  const auto cpu_device = make_cpu_device({.threads = 1});
  for (const SmallModel& small : small_models()) {
    const SmallTraining cuda(small, DType::f32, kernels());
    const SmallTraining cpu(small, DType::f32, portable_kernels());
    const SmallTraining exact(small, DType::f64, portable_kernels());
    const HostBuffers start = initial_buffers(cuda.graph(), 3);
    const Trained free = train(cuda, cuda.plan("none", 100), start, device());
    for (const int percent : {70, 50}) {
      const Trained limited = train(cuda, cuda.plan("joint", percent), start, device());
      EXPECT_TRUE(limited == free) << small.name << " at " << percent << " %";
      const Trained captured = train(cuda, cuda.plan("joint", percent), start, device(), 1);
      EXPECT_TRUE(captured == free) << small.name << " at " << percent << " %, captured";
    }
    const Values truth = values_of(
        exact.graph(),
        train(exact, exact.plan("none", 100), widened(start, cuda.graph(), exact.graph()), *cpu_device));
    const double cpu_error =
        error_of(values_of(cpu.graph(), train(cpu, cpu.plan("none", 100), start, *cpu_device)), truth);
    const double cuda_error = error_of(values_of(cuda.graph(), free), truth);
    std::cout << fmt::format("[ gpu training ] {}: error of float32 on the CPU {:.2e}, on the GPU {:.2e}\n",
                             small.name, cpu_error, cuda_error);
    EXPECT_LE(cuda_error, 3 * std::max(cpu_error, float32_precision)) << small.name;
  }
}

}  // namespace
}  // namespace swapadvisor::test
