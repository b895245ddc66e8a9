#include <swapadvisor/core/error.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/swap/launch_costs.h>
#include <swapadvisor/swap/simulate.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace swapadvisor {
namespace {

/// Fills of a few bytes on the compute stream, and seconds on the device's clock from before to after.
class Filler {
 public:
  explicit Filler(Device& device)
      : device_(device),
        compute_(device.stream(StreamKind::compute)),
        arena_(device.arena(arena_alignment)),
        start_(device.make_event()),
        end_(device.make_event()) {}

  void fill(int count) {
    for (int i = 0; i < count; ++i) compute_.fill(arena_, 0, arena_alignment);
  }

  template <class Queue>
  double seconds_of(const Queue& queue) {
    compute_.record(*start_);
    queue();
    compute_.record(*end_);
    device_.synchronize();
    return end_->seconds() - start_->seconds();
  }

 private:
  Device& device_;
  Stream& compute_;
  std::byte* arena_;
  std::unique_ptr<Event> start_, end_;
};

template <class Sample>
double median_of(const Sample& sample) {
  std::array<double, 5> seconds{};
  sample();  // warms up
  for (double& s : seconds) s = sample();
  std::nth_element(seconds.begin(), seconds.begin() + 2, seconds.end());
  return std::max(0.0, seconds[2]);
}

/// An op or a copy without the launch from a stream that its measured seconds contain, as part of captured
/// work.
double captured(double seconds, const LaunchCosts& costs) {
  return std::max(costs.node_seconds, seconds - costs.stream_seconds + costs.node_seconds);
}

/// Every instruction captured. `Simulator` adds the copies' latency.
void capture_costs(FlatProgram& flat, DeviceSpec& device, const LaunchCosts& costs) {
  device.copy_latency_seconds = captured(device.copy_latency_seconds, costs);
  for (std::size_t i = 0; i < flat.work.size(); ++i)
    if (flat.stream[i] == StreamKind::compute) flat.work[i] = captured(flat.work[i], costs);
}

}  // namespace

LaunchCosts measure_launch_costs(Device& device, Capture& capture) {
  constexpr int work = 400, launches = 20;
  Filler filler(device);
  const auto event = device.make_event();
  Stream& compute = device.stream(StreamKind::compute);
  LaunchCosts costs;
  costs.stream_seconds = median_of([&] {
                           return filler.seconds_of([&] {
                             for (int i = 0; i < work; ++i) {
                               filler.fill(1);
                               compute.record(*event);
                             }
                           });
                         }) /
                         work;
  const auto few = capture.capture([&] { filler.fill(1); });
  const auto many = capture.capture([&] { filler.fill(1 + work); });
  const auto seconds_of = [&](CapturedWork& captured_work) {
    return median_of([&] {
             return filler.seconds_of([&] {
               for (int i = 0; i < launches; ++i) captured_work.launch();
             });
           }) /
           launches;
  };
  const double one = seconds_of(*few);
  costs.node_seconds = std::max(0.0, seconds_of(*many) - one) / work;
  costs.launch_seconds = std::max(0.0, one - costs.node_seconds);
  return costs;
}

Program with_barrier(Program program) {
  std::array<std::int32_t, stream_count> first{-1, -1, -1}, last{-1, -1, -1};
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    program.instructions[i].wait_previous.clear();
    const auto s = static_cast<std::size_t>(program.instructions[i].stream());
    last[s] = static_cast<std::int32_t>(i);
    if (first[s] < 0) first[s] = last[s];
  }
  for (const std::int32_t begin : first)
    for (const std::int32_t end : last)
      if (begin >= 0 && end >= 0)
        program.instructions[static_cast<std::size_t>(begin)].wait_previous.push_back(end);
  return program;
}

CapturedPrediction predict_captured(const Program& program, const LaunchCosts& costs) {
  FlatProgram flat;
  flatten(program, flat);
  const double queueing = costs.stream_seconds * static_cast<double>(program.instructions.size());
  CapturedPrediction prediction;
  prediction.stream_seconds = std::max(queueing, Simulator(program.device).iteration_seconds(flat));
  flatten(with_barrier(program), flat);
  prediction.barrier_seconds = std::max(queueing, Simulator(program.device).iteration_seconds(flat));
  DeviceSpec device = program.device;
  capture_costs(flat, device, costs);
  prediction.captured_seconds = costs.launch_seconds + Simulator(device).iteration_seconds(flat);
  return prediction;
}

std::string describe(const CapturedPrediction& p, const LaunchCosts& costs) {
  return fmt::format(
      "CUDA graph {}: predicted {} a step as a graph, {} from the streams (the barrier between steps "
      "costs {}, launching them whole saves {}: an op or copy costs {} from a stream, {} in a graph)",
      p.faster() ? "used" : "not used", format_seconds(p.captured_seconds), format_seconds(p.stream_seconds),
      format_seconds(std::max(0.0, p.barrier_seconds - p.stream_seconds)),
      format_seconds(p.barrier_seconds - p.captured_seconds), format_seconds(costs.stream_seconds),
      format_seconds(costs.node_seconds));
}

}  // namespace swapadvisor
