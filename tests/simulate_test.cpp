#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/trace.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "program_builder.h"

namespace swapadvisor {
namespace {

using test::ProgramBuilder;

DeviceSpec link(double h2d, double d2h, double duplex, double latency = 0, double slowdown = 1) {
  return {"link", 1 << 30, DeviceSpec::unbounded, h2d, d2h, duplex, latency, slowdown};
}

constexpr auto compute = StreamKind::compute;
constexpr auto in = StreamKind::in;
constexpr auto out = StreamKind::out;

TEST(Simulate, OneOpTakesItsSeconds) {
  FlatProgram program;
  program.add(compute, 2.5);
  EXPECT_DOUBLE_EQ(Simulator(link(1, 1, 2)).iteration_seconds(program), 2.5);
}

TEST(Simulate, CopyThatWaitsForTheLastIterationIsSerial) {
  FlatProgram program;
  program.add(in, 100);
  program.wait_for_previous(1);
  program.add(compute, 2);
  program.wait_for(0);
  EXPECT_DOUBLE_EQ(Simulator(link(10, 10, 20, 1)).iteration_seconds(program), 1 + 10 + 2);
}

TEST(Simulate, IterationsOverlapWithoutBarrier) {
  FlatProgram program;
  program.add(in, 100);
  program.add(compute, 2);
  program.wait_for(0);
  EXPECT_DOUBLE_EQ(Simulator(link(10, 10, 20, 1)).iteration_seconds(program),
                   11);  // the in stream never idles
}

TEST(Simulate, BothDirectionsShareTheDuplexCap) {
  FlatProgram program;
  program.add(in, 100);
  program.add(out, 40);
  Timeline timeline;
  Simulator(link(10, 10, 10)).timeline(program, 1, timeline);
  EXPECT_DOUBLE_EQ(timeline.end[1], 8);      // 40 bytes at 5 per second
  EXPECT_DOUBLE_EQ(timeline.end[0], 8 + 6);  // then 60 bytes at 10
  Simulator(link(10, 30, 10)).timeline(program, 1, timeline);
  EXPECT_DOUBLE_EQ(timeline.end[1], 40 / 7.5);  // a quarter of 30
  Simulator(link(10, 10, 0)).timeline(program, 1, timeline);
  EXPECT_DOUBLE_EQ(timeline.end[0], 10);  // 0: no cap
}

TEST(Simulate, NoBytesMoveDuringLatency) {
  FlatProgram program;
  program.add(in, 100);
  program.add(compute, 4);
  program.add(out, 100);
  program.wait_for(1);
  Timeline timeline;
  Simulator(link(10, 10, 10, 2)).timeline(program, 1, timeline);
  // In moves alone from 2 to 6 (40 bytes), out starts at 4 but has latency until 6; then 60 bytes at 5
  // until 18.
  EXPECT_DOUBLE_EQ(timeline.start[2], 4);
  EXPECT_DOUBLE_EQ(timeline.end[0], 18);
  EXPECT_DOUBLE_EQ(timeline.end[2], 18 + 4);  // 60 of 100 moved by 18, 40 more at 10
}

TEST(Simulate, OpsSlowDownWhileBytesMove) {
  FlatProgram program;
  program.add(in, 20);
  program.add(compute, 10);
  Timeline timeline;
  Simulator(link(10, 10, 20, 3, 2)).timeline(program, 1, timeline);
  EXPECT_DOUBLE_EQ(timeline.end[1], 11);  // 3 s at full speed, 2 s at half, 6 s at full speed
}

TEST(Simulate, WarmUpIsNotMeasured) {
  FlatProgram
      program;  // Iteration 0 need not wait, so the first iterations are faster than the steady state.
  program.add(in, 50);
  program.wait_for_previous(2);
  program.add(compute, 1);
  program.wait_for(0);
  program.add(out, 30);
  program.wait_for(1);
  EXPECT_DOUBLE_EQ(Simulator(link(10, 10, 20)).iteration_seconds(program), 5 + 1 + 3);
}

TEST(Simulate, EmptyProgramsTakeNoTime) {
  EXPECT_EQ(Simulator(link(1, 1, 2)).iteration_seconds(FlatProgram{}), 0);
  Program program;
  program.device = link(1, 1, 2);
  const Prediction prediction = simulate(program);
  EXPECT_EQ(prediction.iteration_seconds, 0);
  EXPECT_EQ(prediction.efficiency, 1);
}

TEST(Simulate, LinkWithoutSpeedIsAnError) {
  EXPECT_THROW(Simulator(link(0, 1, 2)), Error);
  EXPECT_THROW(Simulator(link(1, std::numeric_limits<double>::quiet_NaN(), 2)), Error);
}

TEST(Simulate, PredictionCountsBytesRunsAndPeak) {
  const Program program = test::streamed_step();
  const Prediction prediction = simulate(program);
  EXPECT_EQ(prediction.swap_in_bytes, 256 + 512 + 1024);
  EXPECT_EQ(prediction.swap_out_bytes, 1024 + 256 + 512);
  EXPECT_DOUBLE_EQ(prediction.recompute_seconds, 1);
  EXPECT_DOUBLE_EQ(prediction.ideal_seconds, 11);
  EXPECT_EQ(prediction.peak_bytes, 3328 + 512);
  EXPECT_GE(prediction.bound_seconds, 11);
  // Everything is serial but: x moves under the tail of the step before; loss, 256 bytes, moves while h comes
  // back.
  EXPECT_DOUBLE_EQ(prediction.iteration_seconds, simulate_timeline(program, 8).end[6 * 12 + 10] / 4 -
                                                     simulate_timeline(program, 8).end[2 * 12 + 10] / 4);
  EXPECT_DOUBLE_EQ(prediction.efficiency, 11 / prediction.iteration_seconds);
}

TEST(Simulate, PeakCountsResidentsAndWorkspaces) {
  Program program = test::resident_step(false);
  EXPECT_EQ(peak_bytes(program), 3840);
  program.resident[0].offset = 1 << 14;
  EXPECT_EQ(peak_bytes(program), (1 << 14) + 512);
  program.instructions[2].offsets[2] = 1 << 16;
  EXPECT_EQ(peak_bytes(program), (1 << 16) + 256);
}

// The definition, step by step: no counts, no kept end times. Quadratic; checks `Simulator` on random
// programs.
class Reference {
 public:
  Reference(const FlatProgram& program, const DeviceSpec& device, int iterations)
      : program_(program), device_(device), iterations_(iterations), n_(program.size()) {
    done_.assign(static_cast<std::size_t>(n_ * iterations), false);
    ends.assign(done_.size(), 0);
  }

  std::vector<double> ends;

  void run() {
    while (start_all(), any_running()) {
      double dt = std::numeric_limits<double>::infinity();
      for (const Running& r : running_)
        if (r.active) dt = std::min(dt, r.latency > 0 ? r.latency : r.work / rate(r));
      std::array<double, 3> rates{};
      for (std::size_t s = 0; s < 3; ++s)
        if (running_[s].active) rates[s] = rate(running_[s]);
      now_ += dt;
      for (std::size_t s = 0; s < 3; ++s) advance(running_[s], dt, rates[s]);
    }
  }

 private:
  struct Running {
    bool active = false;
    int node = 0;
    double latency = 0, work = 0;
  };

  StreamKind stream_of_node(int node) const { return program_.stream[static_cast<std::size_t>(node % n_)]; }
  bool any_running() const {
    return std::any_of(running_.begin(), running_.end(), [](const Running& r) { return r.active; });
  }
  bool moving(StreamKind s) const {
    const Running& r = running_[static_cast<std::size_t>(s)];
    return r.active && r.latency <= 0;
  }
  double rate(const Running& r) const {
    const StreamKind s = stream_of_node(r.node);
    if (s == compute) return moving(in) || moving(out) ? 1 / device_.compute_slowdown_while_copying : 1;
    const double h2d = device_.h2d_bytes_per_second, d2h = device_.d2h_bytes_per_second;
    const double shared = device_.duplex_bytes_per_second / (h2d + d2h);
    return (s == in ? h2d : d2h) * (moving(in) && moving(out) ? std::min(1.0, shared) : 1);
  }
  void advance(Running& r, double dt, double rate_before) {
    if (!r.active) return;
    if (r.latency > 0) {
      r.latency -= dt;
      if (r.latency < 1e-12) r.latency = 0;
      return;
    }
    r.work -= dt * rate_before;
    if (r.work > 1e-9) return;
    r.active = false;
    done_[static_cast<std::size_t>(r.node)] = true;
    ends[static_cast<std::size_t>(r.node)] = now_;
  }
  bool waits_done(int node) const {
    const int i = node % n_, k = node / n_;
    const auto at = static_cast<std::size_t>(i);
    for (int w = i ? program_.waits_end[at - 1] : 0; w < program_.waits_end[at]; ++w)
      if (!done_[static_cast<std::size_t>(k * n_ + program_.waits[static_cast<std::size_t>(w)])])
        return false;
    for (int w = i ? program_.waits_previous_end[at - 1] : 0; w < program_.waits_previous_end[at]; ++w)
      if (k > 0 && !done_[static_cast<std::size_t>((k - 1) * n_ +
                                                   program_.waits_previous[static_cast<std::size_t>(w)])])
        return false;
    return true;
  }
  void start_all() {
    for (std::size_t s = 0; s < 3; ++s) {
      int& next = next_[s];
      while (next < n_ * iterations_ && static_cast<std::size_t>(stream_of_node(next)) != s) ++next;
      if (running_[s].active || next == n_ * iterations_ || !waits_done(next)) continue;
      running_[s] = {true, next, s == 0 ? 0 : device_.copy_latency_seconds,
                     program_.work[static_cast<std::size_t>(next % n_)]};
      ++next;
    }
  }

  const FlatProgram& program_;
  const DeviceSpec& device_;
  int iterations_, n_;
  double now_ = 0;
  std::array<Running, 3> running_{};
  std::array<int, 3> next_{};
  std::vector<bool> done_;
};

FlatProgram random_program(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  FlatProgram program;
  const int n = 3 + below(20);
  program.add(compute, 1 + below(5));
  for (int i = 1; i < n; ++i) {
    program.add(static_cast<StreamKind>(below(3)), 1 + below(40));
    for (int w = below(3); w > 0; --w) program.wait_for(below(i));
    for (int w = below(2); w > 0; --w) program.wait_for_previous(below(n));
  }
  return program;
}

TEST(Simulate, AgreesWithTheDefinitionOnRandomPrograms) {
  std::mt19937 random(7);
  const DeviceSpec devices[] = {link(10, 10, 20), link(10, 7, 11, 0.5), link(3, 5, 6, 0.25, 1.5)};
  for (int trial = 0; trial < 300; ++trial) {
    const DeviceSpec& device = devices[trial % 3];
    const FlatProgram program = random_program(random);
    Simulator simulator(device);
    Timeline timeline;
    simulator.timeline(program, 8, timeline);
    Reference reference(program, device, 8);
    reference.run();
    for (std::size_t i = 0; i < reference.ends.size(); ++i)
      ASSERT_NEAR(timeline.end[i], reference.ends[i], 1e-6) << "trial " << trial << ", entry " << i;
    const auto last_compute = static_cast<std::size_t>(
        program.stream.rend() - std::find(program.stream.rbegin(), program.stream.rend(), compute) - 1);
    const auto n = static_cast<std::size_t>(program.size());
    const double expected = (reference.ends[6 * n + last_compute] - reference.ends[2 * n + last_compute]) / 4;
    EXPECT_NEAR(simulator.iteration_seconds(program), expected, 1e-6) << "trial " << trial;
    EXPECT_EQ(simulator.iteration_seconds(program), Simulator(device).iteration_seconds(program));
  }
}

TEST(Trace, HasOneEventPerInstructionAndIteration) {
  const Program program = test::streamed_step();
  const Timeline timeline = simulate_timeline(program, 3);
  const auto trace = nlohmann::json::parse(chrome_trace(program, spans_of(timeline)));
  const auto& events = trace["traceEvents"];
  ASSERT_EQ(events.size(), 3 + 3 * program.instructions.size());
  EXPECT_EQ(events[0]["args"]["name"], "compute");
  const auto& first = events[3];
  EXPECT_EQ(first["name"], "swap-in x");
  EXPECT_EQ(first["tid"], 1);
  EXPECT_EQ(first["args"]["bytes"], 256);
  EXPECT_DOUBLE_EQ(first["dur"].get<double>(), 25.6e6);
  const auto& forward = events[3 + 12 + 2];
  EXPECT_EQ(forward["name"], "forward");
  EXPECT_EQ(forward["args"]["iteration"], 1);
  EXPECT_DOUBLE_EQ(forward["ts"].get<double>(), timeline.start[12 + 2] * 1e6);
}

}  // namespace
}  // namespace swapadvisor
