// Three training steps of a small model on any device.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interpret.h"
#include "small_models.h"

namespace swapadvisor::test {

/// Error below which float32 results cannot be told apart.
inline constexpr double float32_precision = 0x1p-23;

/// Steps of a training.
inline constexpr std::int64_t training_steps = 3;

/// What three steps left: the persistent buffers, and the loss of each.
struct Trained {
  HostBuffers persistent;
  std::vector<std::vector<std::byte>> losses;

  friend bool operator==(const Trained&, const Trained&) = default;
};

/// Two iterations are in flight. `capture_from`: see `ExecutorOptions`; all from there on must be captured.
Trained train(const SmallTraining& training, const Program& program, const HostBuffers& start, Device& device,
              std::int64_t capture_from = -1);

/// By name, in logical order.
using Values = std::map<std::string, std::vector<double>>;
Values values_of(const Graph& graph, const Trained& trained);
/// ‖a − b‖ ÷ ‖b‖ over everything.
double error_of(const Values& a, const Values& b);
/// The start of the same model in float64: the same numbers.
HostBuffers widened(const HostBuffers& start, const Graph& narrow, const Graph& wide);

}  // namespace swapadvisor::test
