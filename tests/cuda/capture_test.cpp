// Captured work on the CUDA device: what runs when, in which order, under the hazard checker; and iterations
// of an executor that cannot be captured.
#include <expect_error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/train/session.h>

#include <algorithm>
#include <set>

#include "declared_kernels.h"
#include "marked_streams.h"
#include "mix_kernels.h"
#include "small_models.h"

namespace swapadvisor::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct CapturingStreams : Streams {
  Capture& capture = dynamic_cast<Capture&>(device);
};

TEST(CudaCapture, NothingRunsBeforeALaunchAndAllOfItWithEach) {
  CapturingStreams s;
  std::vector<int> list;
  const Marker one(list, 1), two(list, 2), three(list, 3);
  const auto event = s.device.make_event();
  const auto work = s.capture.capture([&] {
    s.in.launch(one, {});
    s.in.record(*event);
    s.compute.wait(*event);
    s.compute.launch(two, {});
    s.out.launch(three, {});
  });
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(work->nodes(), 3);
  for (std::size_t launches = 1; launches <= 3; ++launches) {
    work->launch();
    s.compute.synchronize();
    EXPECT_EQ(list.size(), 3 * launches);
    EXPECT_LT(std::find(list.rbegin(), list.rend(), 2), std::find(list.rbegin(), list.rend(), 1));
  }
  EXPECT_EQ(standin().faults(), 0) << first_fault();
}

TEST(CudaCapture, NodesRunInAnyOrderThatTheWaitsAllow) {
  std::set<std::vector<int>> orders;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CapturingStreams s;
    standin().configure(standin_random, standin_forward, seed);
    std::vector<int> list;
    std::vector<std::unique_ptr<Marker>> markers;
    for (int i = 0; i < 9; ++i) markers.push_back(std::make_unique<Marker>(list, i));
    const auto event = s.device.make_event();
    // In: 0 1 2; compute: 3 4 5; out: 6 7 8; and 1 before 7.
    const auto work = s.capture.capture([&] {
      for (const int i : {3, 0, 1})
        (i == 3 ? s.compute : s.in).launch(*markers[static_cast<std::size_t>(i)], {});
      s.in.record(*event);
      s.out.launch(*markers[6], {});
      s.out.wait(*event);
      for (const std::size_t i : {7, 8}) s.out.launch(*markers[i], {});
      s.in.launch(*markers[2], {});
      for (const std::size_t i : {4, 5}) s.compute.launch(*markers[i], {});
    });
    work->launch();
    s.compute.synchronize();
    ASSERT_EQ(list.size(), 9u);
    const auto place = [&](int i) { return std::find(list.begin(), list.end(), i); };
    for (const auto& [earlier, later] :
         std::vector<std::pair<int, int>>{{0, 1}, {1, 2}, {3, 4}, {4, 5}, {6, 7}, {7, 8}, {1, 7}})
      EXPECT_LT(place(earlier), place(later)) << "seed " << seed;
    orders.insert(list);
    standin().configure(standin_at_once, standin_forward, 1);
  }
  EXPECT_GT(orders.size(), 10u);
}

TEST(CudaCapture, ConflictsThatNothingOrdersAreReportedAtTheLaunch) {
  for (const bool ordered : {false, true}) {
    CapturingStreams s;
    const auto event = s.device.make_event();
    const auto work = s.capture.capture([&] {
      s.in.copy(s.arena, s.host->data(), 1024);
      s.in.record(*event);
      if (ordered) s.compute.wait(*event);
      s.compute.fill(s.arena + 512, 0, 1024);
    });
    EXPECT_EQ(standin().faults(), 0) << first_fault();
    work->launch();
    EXPECT_EQ(standin().faults(), ordered ? 0 : 1) << first_fault();
    work->launch();
    EXPECT_EQ(standin().faults(), ordered ? 0 : 2) << "one launch after the other, and a conflict in each";
    s.device.synchronize();
  }
}

TEST(CudaCapture, ALaunchIsOrderedByTheComputeStreamAlone) {
  CapturingStreams s;
  const auto work = s.capture.capture([&] { s.in.copy(s.arena, s.host->data(), 1024); });
  s.compute.fill(s.arena, 1, 1024);
  work->launch();
  s.compute.fill(s.arena, 2, 1024);
  EXPECT_EQ(standin().faults(), 0) << first_fault();
  s.out.copy(s.host->data() + 2048, s.arena, 1024);
  EXPECT_EQ(standin().faults(), 1) << "the out stream does not wait for it";
  s.device.synchronize();
  s.in.fill(s.arena, 3, 1024);
  work->launch();
  EXPECT_EQ(standin().faults(), 2) << "nor does it wait for what the in stream was given";
  s.device.synchronize();
}

TEST(CudaCapture, AnIllegalCallIsOneErrorAndTheStreamsAreAsBefore) {
  CapturingStreams s;
  const auto before = s.device.make_event(), within = s.device.make_event();
  s.in.record(*before);
  const std::vector<std::function<void()>> illegal{
      [&] { s.in.synchronize(); }, [&] { before->synchronize(); }, [&] { s.device.host_alloc(4096); }};
  for (const auto& call : illegal) {
    const std::string error = message_of([&] {
      s.capture.capture([&] {
        s.in.fill(s.arena, 1, 256);
        call();
        s.in.fill(s.arena, 2, 256);
      });
    });
    EXPECT_THAT(error, AllOf(HasSubstr("CUDA: "), HasSubstr("cudaErrorStreamCapture")));
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 0);
  }
  EXPECT_THAT(message_of([&] { s.capture.capture([&] { s.compute.wait(*before); }); }),
              HasSubstr("cudaErrorStreamCaptureIsolation"));
  EXPECT_EQ(message_of([&] { s.capture.capture([&] { fail("of the caller"); }); }), "of the caller");
  s.capture.capture([&] { s.in.record(*within); });
  EXPECT_THAT(message_of([&] { s.out.wait(*within); }), HasSubstr("cudaErrorCapturedEvent"));
  for (Stream* stream : {&s.compute, &s.in, &s.out}) {
    stream->fill(s.arena, 5, 256);
    stream->synchronize();
  }
  EXPECT_EQ(standin().faults(), 0) << first_fault();
}

TEST(CudaCapture, TimesAreRecordedWithEveryLaunch) {
  CapturingStreams s;
  const auto start = s.device.make_event(), end = s.device.make_event();
  const auto work = s.capture.capture([&] {
    s.capture.record_time(StreamKind::in, *start);
    s.in.copy(s.arena, s.host->data(), 1 << 16);
    s.capture.record_time(StreamKind::in, *end);
  });
  double previous = 0;
  for (int i = 0; i < 3; ++i) {
    work->launch();
    end->synchronize();
    EXPECT_LE(previous, start->seconds());
    EXPECT_LT(start->seconds(), end->seconds());
    previous = end->seconds();
  }
}

// --- iterations of an executor
// -------------------------------------------------------------------------------------

Program random_program(std::uint64_t seed) {
  const PlanGraph graph = random_plan_graph(seed);
  PlanRequest request;
  request.graph = &graph;
  request.device = random_device(seed, graph);
  return make_planner("belady")->plan(request);
}

TEST(CudaCapture, IterationsOfRandomPlansGiveTheBitsOfTheReference) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Program program = random_program(seed);
    const Backend backend = open_standin();
    standin().configure(static_cast<int>(seed % 4), standin_forward, static_cast<std::uint32_t>(seed));
    const auto inner = mix_kernels(program.graph);
    const auto kernels = declared_ops(program.graph, &inner);
    ExecutorOptions options;
    options.capture_from = static_cast<std::int64_t>(seed % 3);
    options.trace_iterations = seed % 5 == 0 ? 4 : 0;
    options.on_no_capture = [](const std::string& reason) { ADD_FAILURE() << reason; };
    EXPECT_EQ(run_and_compare(program, run_reference(program.graph, 7), seed % 2 == 0, *backend.device,
                              bind_all(kernels), true, options),
              "")
        << "graph " << seed;
    EXPECT_EQ(standin().faults(), 0) << "graph " << seed << ": " << first_fault();
    standin().configure(standin_at_once, standin_forward, 1);
  }
}

/// Waits for its stream, which cannot be captured.
class WaitingKernel final : public Kernel {
 public:
  WaitingKernel(const Kernel& kernel, Device& device) : kernel_(kernel), device_(device) {}
  void run(NativeStream stream, const KernelArgs& args) const override {
    device_.stream(StreamKind::compute).synchronize();
    kernel_.run(stream, args);
  }

 private:
  const Kernel& kernel_;
  Device& device_;
};

TEST(CudaCapture, AnOpThatWaitsIsNamedAndTheStreamsGoOn) {
  const Program program = random_program(3);
  const Backend backend = open_standin();
  const auto inner = mix_kernels(program.graph);
  auto kernels = declared_ops(program.graph, &inner);
  const WaitingKernel waiting(*kernels.back(), *backend.device);
  std::vector<BoundKernel> bound = bind_all(kernels);
  bound.back().kernel = &waiting;
  std::vector<std::string> reasons;
  ExecutorOptions options;
  options.capture_from = 1;
  options.on_no_capture = [&](const std::string& reason) { reasons.push_back(reason); };
  EXPECT_EQ(run_and_compare(program, run_reference(program.graph, 6), false, *backend.device,
                            std::move(bound), true, options),
            "");
  EXPECT_EQ(standin().faults(), 0) << first_fault();
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_THAT(reasons[0], AllOf(HasSubstr(fmt::format("op '{}'", program.graph.ops.back().name)),
                                HasSubstr("cannot be captured: CUDA: "), HasSubstr("not permitted")));
}

TEST(CudaCapture, PageableHostMemoryIsAnObstacle) {
  const Program program = random_program(3);
  const Backend backend = open_standin();
  standin().set_memory(-1, standin().pinned_bytes());
  const auto inner = mix_kernels(program.graph);
  const auto kernels = declared_ops(program.graph, &inner);
  std::vector<std::string> reasons;
  ExecutorOptions options;
  options.capture_from = 0;
  options.on_no_capture = [&](const std::string& reason) { reasons.push_back(reason); };
  EXPECT_EQ(run_and_compare(program, run_reference(program.graph, 5), false, *backend.device,
                            bind_all(kernels), true, options),
            "");
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_THAT(reasons[0], HasSubstr("could not be pinned"));
  EXPECT_EQ(dynamic_cast<const Capture&>(*backend.device).obstacle(), "") << "when that memory is gone";
}

/// Runs three steps of a small model; the losses.
std::vector<std::vector<float>> losses(Session& session, const SmallTraining& training) {
  const Graph& graph = training.graph();
  std::vector<std::vector<float>> all;
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto data = training.inputs(step);
    Inputs inputs;
    for (std::size_t b = 0; b < data.size(); ++b)
      if (graph.buffers()[b].kind == BufferKind::input) inputs.emplace(graph.buffers()[b].name, data[b]);
    session.step(inputs);
    all.push_back(session.read<float>("loss"));
  }
  return all;
}

TEST(CudaCapture, ASessionCapturesWhereThatIsFaster) {
  std::vector<std::vector<float>> expected;
  for (const LaunchCosts& costs : {LaunchCosts{0, 0, 0}, LaunchCosts{1, 0, 0}, LaunchCosts{1, 0, 1e6}}) {
    Backend backend = open_standin();
    const SmallTraining training(small_models().front(), DType::f32, backend.kernels);
    Runtime runtime(std::move(backend.device), backend.kernels);
    SessionOptions options;
    options.capture = true;
    options.launch_costs = costs;
    options.profile_repeats = 1;
    options.on_no_capture = [](const std::string& reason) { ADD_FAILURE() << reason; };
    Session session(training.graph(), runtime, options);
    const bool faster = costs.stream_seconds > 0 && costs.launch_seconds < 1;
    ASSERT_TRUE(session.captured_prediction());
    EXPECT_EQ(session.captured_prediction()->faster(), faster);
    EXPECT_EQ(
        session.program().predicted.iteration_seconds == session.captured_prediction()->captured_seconds,
        faster);
    const auto found = losses(session, training);
    EXPECT_EQ(session.executor().captured_iterations(), faster ? 2 : 0);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected);
  }
}

TEST(CudaCapture, LaunchCostsAreMeasured) {
  const Backend backend = open_standin();
  const LaunchCosts costs = measure_launch_costs(*backend.device, dynamic_cast<Capture&>(*backend.device));
  EXPECT_GT(costs.stream_seconds, 0);
  EXPECT_GE(costs.node_seconds, 0);
  EXPECT_GE(costs.launch_seconds, 0);
  EXPECT_LT(costs.stream_seconds, 1);
  EXPECT_EQ(standin().faults(), 0) << first_fault();
}

}  // namespace
}  // namespace swapadvisor::test
