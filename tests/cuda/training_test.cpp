// Three training steps on the stand-in: the same bits with and without a limit, under every schedule, without
// a hazard, and the numbers of the CPU device up to float32 rounding.
#include <gtest/gtest.h>
#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include <algorithm>
#include <iostream>

#include "declared_kernels.h"
#include "standin_backend.h"
#include "training_run.h"

namespace swapadvisor::test {
namespace {

constexpr int seeds = 20;

class CudaTraining : public testing::TestWithParam<SmallModel> {};

TEST_P(CudaTraining, SameBitsWithAndWithoutALimitUnderEverySchedule) {
  const Backend opened = open_standin();
  const KernelSet kernels = declared_kernels(opened.kernels);
  const SmallTraining training(GetParam(), DType::f32, kernels);
  const HostBuffers start = initial_buffers(training.graph(), 3);
  int on_host = 0;
  for (const Node& node : training.graph().nodes()) on_host += !opened.kernels.contains(node.op->type());
  const Program all = training.plan("none", 100), tight = training.plan("joint", 30);
  const Trained expected = train(training, all, start, *opened.device);
  EXPECT_EQ(standin().faults(), 0) << first_fault();
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const Backend backend = open_standin();
    const int schedule = seed % 4 == 0 ? standin_threads : seed % 4 == 1 ? standin_late : standin_random;
    standin().configure(schedule, static_cast<int>(seed % 3), seed);
    EXPECT_TRUE(train(training, tight, start, *backend.device) == expected) << "seed " << seed;
    EXPECT_EQ(standin().faults(), 0) << "seed " << seed << ": " << first_fault();
    EXPECT_EQ(backend.device->arena_bytes(), tight.arena_bytes);
    standin().configure(standin_at_once, standin_forward, 1);
  }
  std::cout << "[ training ] " << GetParam().name << ": " << training.graph().nodes().size() << " ops ("
            << on_host << " by CPU kernels), " << tight.arena_bytes << " of " << all.arena_bytes << " bytes, "
            << tight.instructions.size() - all.instructions.size()
            << " more instructions than without a limit, " << seeds << " seeds\n";
}

/// The first step from the streams or not: seeds differ. The third step launches again what the first
/// captured.
TEST_P(CudaTraining, SameBitsThroughCapturedGraphsUnderEverySchedule) {
  const Backend opened = open_standin();
  const KernelSet kernels = declared_kernels(opened.kernels);
  const SmallTraining training(GetParam(), DType::f32, kernels);
  const HostBuffers start = initial_buffers(training.graph(), 3);
  const Trained expected = train(training, training.plan("none", 100), start, *opened.device);
  const Program tight = training.plan("joint", 30);
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const Backend backend = open_standin();
    const int schedule = seed % 4 == 0 ? standin_threads : seed % 4 == 1 ? standin_late : standin_random;
    standin().configure(schedule, static_cast<int>(seed % 3), seed);
    EXPECT_TRUE(train(training, tight, start, *backend.device, seed % 2) == expected) << "seed " << seed;
    EXPECT_EQ(standin().faults(), 0) << "seed " << seed << ": " << first_fault();
    standin().configure(standin_at_once, standin_forward, 1);
  }
}

TEST_P(CudaTraining, NumbersOfTheCpuUpToFloat32Rounding) {
  const Backend backend = open_standin();
  const SmallTraining cuda(GetParam(), DType::f32, declared_kernels(backend.kernels));
  const SmallTraining cpu(GetParam(), DType::f32, portable_kernels());
  const SmallTraining exact(GetParam(), DType::f64, portable_kernels());
  const HostBuffers start = initial_buffers(cuda.graph(), 3);
  const auto device = make_cpu_device({.threads = 1});
  const auto run = [&](const SmallTraining& training, Device& on, const HostBuffers& from) {
    return values_of(training.graph(), train(training, training.plan("none", 100), from, on));
  };
  const Values truth = run(exact, *device, widened(start, cuda.graph(), exact.graph()));
  const double cpu_error = error_of(run(cpu, *device, start), truth);
  const double cuda_error = error_of(run(cuda, *backend.device, start), truth);
  std::cout << "[ training ] " << GetParam().name << ": error of float32 on the CPU " << cpu_error
            << ", on CUDA " << cuda_error << "\n";
  EXPECT_LE(cuda_error, 3 * std::max(cpu_error, float32_precision));
}

INSTANTIATE_TEST_SUITE_P(Small, CudaTraining, testing::ValuesIn(small_models()),
                         [](const testing::TestParamInfo<SmallModel>& model) { return model.param.name; });

}  // namespace
}  // namespace swapadvisor::test
