// Mutation tests of waits: whatever the verifier says is missing, the hazard checker must report, and nothing
// else.
#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/swap/launch_costs.h>
#include <swapadvisor/swap/verify.h>

#include <algorithm>
#include <iostream>

#include "declared_kernels.h"
#include "mix_kernels.h"
#include "small_models.h"
#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

constexpr int iterations = 4;

/// How iterations run.
enum class Schedule { streams, captured };

/// Queues iterations of `program`, two in flight, with kernels that only say what they touch; the faults.
int faults_of(const Program& program, Schedule schedule) {
  const Backend backend = open_standin();
  standin().configure(standin_late, standin_forward,
                      1);  // the quickest; whatever is reported, is when it is queued
  const auto kernels = declared_ops(program.graph, nullptr);
  DeviceHostStore host(*backend.device);
  ExecutorOptions options;
  options.capture_from = schedule == Schedule::captured ? 0 : -1;
  options.on_no_capture = [](const std::string& reason) { ADD_FAILURE() << reason; };
  Executor executor(program, bind_all(kernels), *backend.device, host, options);
  for (int i = 0; i < iterations; ++i) {
    if (executor.in_flight() == 2) executor.take();
    std::vector<Bytes> data;
    std::vector<InputData> inputs;
    for (const PlanBuffer& buffer : program.graph.buffers)
      data.emplace_back(buffer.kind == BufferKind::input ? static_cast<std::size_t>(buffer.bytes) : 0);
    for (std::size_t b = 0; b < data.size(); ++b)
      if (program.graph.buffers[b].kind == BufferKind::input)
        inputs.push_back({static_cast<int>(b), data[b]});
    executor.submit(inputs);
  }
  executor.drain();
  return standin().faults();
}

/// Mutants of a program, each without one wait, and what was said of them.
struct Count {
  int mutants = 0, matter = 0, caught = 0, false_alarms = 0;
};

/// Calls `visit(mutant)` for `program` without one wait, for each wait.
template <class Visit>
void drop_each_wait(Program program, const Visit& visit) {
  for (Instruction& instruction : program.instructions)
    for (auto* list : {&instruction.wait, &instruction.wait_previous}) {
      const std::vector<std::int32_t> all = *list;
      for (const std::int32_t dropped : all) {
        *list = all;
        list->erase(std::find(list->begin(), list->end(), dropped));
        visit(program);
      }
      *list = all;
    }
}

/// Also waits that others imply: every copy waits for what came two before it on each other stream.
void add_implied_waits(Program& program) {
  for (std::size_t i = 3; i < program.instructions.size(); i += 7) {
    Instruction& instruction = program.instructions[i];
    for (std::size_t w = i - 3; w < i; ++w)
      if (program.instructions[w].stream() != instruction.stream() &&
          std::find(instruction.wait.begin(), instruction.wait.end(), static_cast<std::int32_t>(w)) ==
              instruction.wait.end())
        instruction.wait.push_back(static_cast<std::int32_t>(w));
  }
}

Count count_mutants(const Program& program, Schedule schedule = Schedule::streams) {
  Count count;
  EXPECT_TRUE(verify(program).valid) << verify(program).error;
  EXPECT_EQ(faults_of(program, schedule), 0) << first_fault();
  drop_each_wait(program, [&](const Program& mutant) {
    const bool matters = !verify(schedule == Schedule::captured ? with_barrier(mutant) : mutant).valid;
    const bool reported = faults_of(mutant, schedule) > 0;
    ++count.mutants;
    count.matter += matters;
    count.caught += matters && reported;
    count.false_alarms += !matters && reported;
  });
  return count;
}

void show(const std::string& name, const Count& count) {
  std::cout << "[ mutants  ] " << name << ": " << count.mutants << " waits dropped one by one, "
            << count.matter << " of them matter, " << count.caught << " of these reported, "
            << count.false_alarms << " false alarms\n";
}

TEST(CudaMutation, EveryDroppedWaitThatMattersIsReported) {
  for (const SmallModel& small : small_models()) {
    if (small.name != "mlp" && small.name != "resnet20" && small.name != "lstm") continue;
    const SmallTraining training(small, DType::f32, portable_kernels());
    for (const char* planner : {"belady", "joint"}) {
      if (small.name != "mlp" && std::string(planner) == "belady")
        continue;  // many mutants, like those of `joint`
      const Program program = training.plan(planner, 30);
      const Count count = count_mutants(program);
      show(small.name + " at 30 % by " + planner, count);
      EXPECT_GT(count.matter, 20);
      EXPECT_EQ(count.caught, count.matter);
      EXPECT_EQ(count.false_alarms, 0);
    }
  }
}

/// In captured iterations waits for the previous one are never needed: a barrier is there.
TEST(CudaMutation, EveryDroppedWaitThatMattersIsReportedInCapturedGraphs) {
  for (const SmallModel& small : small_models()) {
    if (small.name != "mlp" && small.name != "resnet20" && small.name != "lstm") continue;
    const SmallTraining training(small, DType::f32, portable_kernels());
    const Count count = count_mutants(training.plan("joint", 30), Schedule::captured);
    show(small.name + " at 30 % by joint, captured", count);
    EXPECT_GT(count.matter, 20);
    EXPECT_GT(count.mutants, count.matter);
    EXPECT_EQ(count.caught, count.matter);
    EXPECT_EQ(count.false_alarms, 0);
  }
}

void count_random_graphs(Schedule schedule, const std::string& name) {
  Count sum;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const PlanGraph graph = random_plan_graph(seed, {2, 25, 5000});
    PlanRequest request;
    request.graph = &graph;
    request.device = random_device(seed, graph);
    Program program = make_planner("belady")->plan(request);
    add_implied_waits(program);
    const Count count = count_mutants(program, schedule);
    EXPECT_EQ(count.caught, count.matter) << "graph " << seed;
    EXPECT_EQ(count.false_alarms, 0) << "graph " << seed;
    sum.mutants += count.mutants;
    sum.matter += count.matter;
    sum.caught += count.caught;
    sum.false_alarms += count.false_alarms;
  }
  show(name, sum);
  EXPECT_GT(sum.matter, 200);
  EXPECT_GT(sum.mutants, sum.matter) << "some waits must be implied, or this tests only half";
}

TEST(CudaMutation, RandomGraphsWithWaitsThatOthersImply) {
  count_random_graphs(Schedule::streams, "40 random graphs");
}

TEST(CudaMutation, RandomGraphsCaptured) {
  count_random_graphs(Schedule::captured, "40 random graphs, captured");
}

/// The same bits as the reference under every schedule, with ops computed in the streams' order.
TEST(CudaExecutor, RandomPlansGiveTheBitsOfTheReferenceUnderEverySchedule) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    PlanRequest request;
    request.graph = &graph;
    request.device = random_device(seed, graph);
    const Program program = make_planner("belady")->plan(request);
    const Backend backend = open_standin();
    standin().configure(static_cast<int>(seed % 4), standin_forward, static_cast<std::uint32_t>(seed));
    const auto inner = mix_kernels(graph);
    const auto kernels = declared_ops(graph, &inner);
    EXPECT_EQ(run_and_compare(program, run_reference(graph, 7), seed % 3 == 0, *backend.device,
                              bind_all(kernels), true),
              "")
        << "graph " << seed;
    EXPECT_EQ(standin().faults(), 0) << first_fault();
    standin().configure(standin_at_once, standin_forward, 1);
  }
}

/// Wrong answers show a missing wait only by luck: why the checker is the gate.
TEST(CudaMutation, WrongAnswersAloneShowOnlySome) {
  const SmallModel small = small_models().front();
  const SmallTraining training(small, DType::f32, portable_kernels());
  const Program program = training.plan("belady", 30);
  const ReferenceRun reference = run_reference(program.graph, iterations);
  const auto inner = mix_kernels(program.graph);
  int mutants = 0, wrong = 0;
  drop_each_wait(program, [&](const Program& mutant) {
    const Backend backend = open_standin();
    standin().configure(standin_random, standin_forward, 7);
    const auto kernels = declared_ops(mutant.graph, &inner);
    wrong += !run_and_compare(mutant, reference, false, *backend.device, bind_all(kernels), false).empty();
    ++mutants;
    EXPECT_GT(standin().faults(), 0);
  });
  std::cout << "[ mutants  ] " << small.name << ": wrong answers under one random schedule in " << wrong
            << " of " << mutants << "\n";
  EXPECT_GT(wrong, 0) << "a schedule that never goes wrong tests nothing";
}

}  // namespace
}  // namespace swapadvisor::test
