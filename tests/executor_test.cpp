#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/core/executor.h>
#include <swapadvisor/memory/device_host_store.h>
#include <mix_kernels.h>
#include <program_builder.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

namespace swapadvisor {
namespace {

using namespace swapadvisor::test;

TEST(Executor, StreamedStepGivesTheBitsOfTheReference) { EXPECT_EQ(run_and_compare(streamed_step(), 7, false), ""); }

TEST(Executor, ResidentStepGivesTheBitsOfTheReference) {
  EXPECT_EQ(run_and_compare(resident_step(false), 7, false), "");
  EXPECT_EQ(run_and_compare(resident_step(true), 7, false), "");
}

TEST(Executor, DrainWritesDirtyResidentsBackAndTheNextSubmitLoadsThem) {
  EXPECT_EQ(run_and_compare(resident_step(false), 8, true), "");
  EXPECT_EQ(run_and_compare(streamed_step(), 8, true), "");
}

TEST(Executor, WrongProgramsGiveWrongBits) {
  // The comparison itself must be able to fail: w is not swapped out, so the update is lost.
  Program program = streamed_step();
  program.instructions.pop_back();
  program.instructions[1].wait_previous = {10};  // after the update, so that it is wrong but no race
  EXPECT_NE(run_and_compare(program, 4, false), "");
}

TEST(Executor, PoisonCoversWhatNobodyReadsAgain) {
  const auto dead = dead_ranges(resident_step(false));
  // x is dead after forward, h and y after backward, gw after sgd; w and its update never.
  const auto has = [&](std::size_t instruction, std::int64_t offset) {
    for (const auto& [start, bytes] : dead[instruction])
      if (start == offset) return true;
    return false;
  };
  EXPECT_TRUE(has(1, 0));
  EXPECT_TRUE(has(5, 1024));
  EXPECT_TRUE(has(5, 2048));
  EXPECT_TRUE(has(6, 3328));
  for (const auto& ranges : dead)
    for (const auto& [start, bytes] : ranges) EXPECT_NE(start, 256);
}

struct Fixture {
  Program program = resident_step(false);
  std::unique_ptr<Device> device = make_cpu_device({.threads = 1});
  DeviceHostStore host{*device};
  std::vector<std::unique_ptr<Kernel>> kernels = mix_kernels(program.graph);
  Bytes x = input_bytes(program.graph, 0, 0);
};

TEST(Executor, RefusesMissingUnknownAndMissizedInputs) {
  Fixture f;
  Executor executor(f.program, bind_all(f.kernels), *f.device, f.host);
  EXPECT_THROW(executor.submit({}), Error);
  const InputData wrong_size{0, std::span(f.x).first(10)};
  EXPECT_THROW(executor.submit(std::span(&wrong_size, 1)), Error);
  const InputData not_an_input{1, f.x};
  EXPECT_THROW(executor.submit(std::span(&not_an_input, 1)), Error);
  EXPECT_EQ(executor.in_flight(), 0);
  const InputData right{0, f.x};
  executor.submit(std::span(&right, 1));
  EXPECT_EQ(executor.take().outputs[4].size(), 256u);
}

TEST(Executor, HostStoreLimitIsChecked) {
  Fixture f;
  DeviceHostStore small(*f.device, 8192);
  EXPECT_THROW(Executor(f.program, bind_all(f.kernels), *f.device, small), Error);
  EXPECT_LE(small.bytes(), 8192);
}

TEST(Executor, KernelExceptionsReachTheHost) {
  Fixture f;
  const auto broken = make_kernel([](const KernelArgs&) { throw Error("broken kernel"); });
  auto bound = bind_all(f.kernels);
  bound[3].kernel = broken.get();
  Executor executor(f.program, std::move(bound), *f.device, f.host);
  const InputData right{0, f.x};
  executor.submit(std::span(&right, 1));
  EXPECT_THROW(executor.take(), Error);
}

TEST(Executor, InspectVisitsEveryOpInOrderAndContinues) {
  Fixture f;
  Executor executor(f.program, bind_all(f.kernels), *f.device, f.host);
  std::vector<std::int32_t> visited;
  const InputData right{0, f.x};
  const auto inspected = executor.inspect(std::span(&right, 1), [&](std::int32_t op, const KernelArgs& args) {
    visited.push_back(op);
    EXPECT_EQ(args.outputs.size(), 1u);
  });
  EXPECT_EQ(visited, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  executor.submit(std::span(&right, 1));
  EXPECT_NE(executor.take().outputs[4], inspected.outputs[4]);  // w has changed in between
}

TEST(Executor, TraceHasEveryInstructionOfTheFirstIterations) {
  Fixture f;
  Executor executor(f.program, bind_all(f.kernels), *f.device, f.host, {.slot_prefix = "", .poison = {}, .trace_iterations = 2});
  const InputData right{0, f.x};
  for (int i = 0; i < 4; ++i) {
    executor.submit(std::span(&right, 1));
    executor.take();
  }
  ASSERT_EQ(executor.spans().size(), 2 * f.program.instructions.size());
  for (const InstructionSpan& span : executor.spans()) EXPECT_LE(span.start_seconds, span.end_seconds);
}

TEST(Executor, OneArenaThatNeverGrows) {
  Fixture f;
  Executor executor(f.program, bind_all(f.kernels), *f.device, f.host);
  const InputData right{0, f.x};
  executor.submit(std::span(&right, 1));
  executor.take();
  const std::byte* arena = f.device->arena(1);
  for (int i = 0; i < 20; ++i) {
    executor.submit(std::span(&right, 1));
    executor.take();
  }
  EXPECT_EQ(f.device->arena(1), arena);
  EXPECT_EQ(f.device->arena_bytes(), f.program.arena_bytes);
}

}  // namespace
}  // namespace swapadvisor
