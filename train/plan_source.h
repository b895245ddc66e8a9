// What `plan` and `compare` plan: a model or a graph file, for a device.
#pragma once

#include <swapadvisor/train/cli.h>

namespace swapadvisor {

/// Options MODEL, --graph, --profile, --device, the model's and the optimizer's.
struct PlanSource {
  TaskOptions task;
  OptimizerCommandOptions optimizer;
  std::string graph_file, profile_file, device = "v100-16g";

  void add_to(CLI::App& command);
  /// The device by name or file. A wrong name is bad usage.
  DeviceSpec device_spec() const;
  /// The graph file, or the model's training graph with seconds from the profile or the device's cost model.
  PlanGraph graph() const;

 private:
  PlanGraph graph_of_model() const;
};

/// What a planner is asked: limits and search budget as given on the command line; `needed` is what 100 %
/// means.
PlanRequest plan_request(const PlanGraph& graph, DeviceSpec device, const PlanCommandOptions& options,
                         std::int64_t needed);

/// `--without`: parts of `joint` to leave out.
void add_parts_option(CLI::App& command, JointParts& parts);

}  // namespace swapadvisor
