#include <swapadvisor/swap/cost_model.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/train/plan_source.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>

namespace swapadvisor {

void PlanSource::add_to(CLI::App& command) {
  task.batch_size = 32;
  task.add_to(command, false);
  optimizer.add_to(command);
  command.add_option("--graph", graph_file, "Plan this graph v1 file instead of a model");
  command.add_option("--profile", profile_file,
                     "Measured seconds: a graph v1 file from `swapadvisor profile`");
  command.add_option("--device", device, "Device name or device v1 file")->capture_default_str();
}

DeviceSpec PlanSource::device_spec() const {
  const bool file = std::filesystem::exists(device);
  return file ? find_device(device) : as_usage([&] { return find_device(device); });
}

PlanGraph PlanSource::graph() const {
  if (task.model.empty() == graph_file.empty())
    throw CLI::ValidationError("this command needs either MODEL or --graph FILE");
  return graph_file.empty() ? graph_of_model() : read_graph(graph_file);
}

PlanGraph PlanSource::graph_of_model() const {
  // As `profile` and `train` do: the data decide image size, channels and classes.
  const auto data = task.open(Split::train, 1);
  const Model model = task.settle(*data);
  Graph graph(model.info.name);
  optimizer.check_usage();
  StepOptions step = task.step_options(*data);
  step.optimizer = optimizer.optimizer;
  step.label_smoothing = optimizer.label_smoothing;
  build_training_graph(graph, model, step);
  if (!profile_file.empty()) {
    const PlanGraph measured = read_graph(profile_file);
    PlanGraph plain = measured;
    for (PlanOp& op : plain.ops) op.workspace_bytes = 0;
    if (const std::string difference = structure_difference(lower(graph, {}), plain); !difference.empty())
      fail("{}: the profile is of another graph than '{}' with these options: {}", profile_file, task.model, difference);
    return measured;
  }
  const auto compute = find_compute_spec(device);
  if (!compute)
    fail(
        "there is no cost model for device '{}': give measured seconds with --profile, or a graph with "
        "--graph",
        device);
  return lower(graph, model_ops(graph, *compute));
}

void add_parts_option(CLI::App& command, JointParts& parts) {
  struct Part {
    std::string name;
    bool JointParts::*member;
  };
  const std::array<Part, 5> all{{{"order", &JointParts::order},
                                        {"offsets", &JointParts::offsets},
                                        {"eviction", &JointParts::eviction},
                                        {"clean-eviction", &JointParts::clean_eviction},
                                        {"recompute", &JointParts::recompute}}};
  command
      .add_option_function<std::vector<std::string>>(
          "--without",
          [&parts, all](const std::vector<std::string>& names) {
            for (const Part& part : all)
              if (std::find(names.begin(), names.end(), part.name) != names.end()) parts.*part.member = false;
          },
          "What planner joint must not decide, to see what it is worth; separated by commas: the order of the ops, exact "
          "offsets (else the size-class pool of swapadvisor), weighed eviction (else by distance to the next use), clean "
          "eviction (else all victims are copied), recompute")
      ->delimiter(',')
      ->check(CLI::IsMember({"order", "offsets", "eviction", "clean-eviction", "recompute"}))
      ->group("Memory and planning");
}

PlanRequest plan_request(const PlanGraph& graph, DeviceSpec device, const PlanCommandOptions& options,
                         std::int64_t needed) {
  PlanRequest request;
  request.graph = &graph;
  request.device = std::move(device);
  if (const auto limit = options.limit()) request.device.memory_bytes = limit->resolve(needed);
  if (!options.host_limit.empty()) request.device.host_bytes = options.host_bytes();
  request.search_seconds = options.search_budget_seconds();
  request.search_evaluations = options.search_evaluations;
  return request;
}

}  // namespace swapadvisor
