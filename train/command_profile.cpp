#include <swapadvisor/core/parallel.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/train/cli.h>

#include <algorithm>
#include <map>

namespace swapadvisor {
namespace {

struct ProfileCommand {
  TaskOptions task;
  OptimizerCommandOptions optimizer;
  DeviceCommandOptions device;
  PlanCommandOptions plan;
  OutputOptions output;
  std::string out, device_out;
  int repeats = 5;
};

/// Seconds by op type, the dearest first.
std::vector<std::pair<std::string, double>> seconds_by_type(const PlanGraph& graph) {
  std::map<std::string, double> sums;
  for (const PlanOp& op : graph.ops) sums[op.type] += op.seconds;
  std::vector<std::pair<std::string, double>> rows(sums.begin(), sums.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

void print_report(const PlanGraph& graph, const DeviceSpec& spec, std::int64_t needed) {
  const double total = total_seconds(graph);
  fmt::print("{}: {} ops, {} a step, {} of device memory needed\n", graph.name, graph.ops.size(),
             format_seconds(total), format_bytes(needed));
  for (const auto& [type, seconds] : seconds_by_type(graph))
    fmt::print("  {:<32}{:>10}  {:>5.1f} %\n", type, format_seconds(seconds), 100 * seconds / std::max(total, 1e-30));
  fmt::print("link: to device {}, to host {}, both {}, latency {}; ops {:.1f} % slower while copying\n",
             format_bandwidth(spec.h2d_bytes_per_second), format_bandwidth(spec.d2h_bytes_per_second),
             format_bandwidth(spec.duplex_bytes_per_second), format_seconds(spec.copy_latency_seconds),
             100 * (spec.compute_slowdown_while_copying - 1));
}

void run_profile(const ProfileCommand& c) {
  const auto data = c.task.open(Split::train, 1);
  const Model model = c.task.settle(*data);
  StepOptions step = c.task.step_options(*data);
  step.optimizer = c.optimizer.optimizer;
  step.label_smoothing = c.optimizer.label_smoothing;
  c.optimizer.check_usage();
  Graph graph(model.info.name);
  build_training_graph(graph, model, step);
  check_writable({c.out, c.device_out});
  InterruptStop interrupt;
  const Backend backend = c.device.open();
  const auto& device = backend.device;
  set_thread_count(device->threads());
  const auto kernels = prepare_kernels(graph, backend.kernels, {device->threads(), 1});
  const PlanGraph plain = lower(graph, workspace_profiles(kernels));
  const std::int64_t needed = device_bytes_needed(plain);
  ProfileOptions options;
  options.repeats = c.repeats;
  options.stop = interrupt.token();
  options.memory_limit = c.plan.limit() ? c.plan.limit()->resolve(needed) : device->free_bytes();
  const auto profiles = profile_ops(graph, kernels, *device, options);
  const DeviceSpec spec = profile_link(graph, kernels, profiles, *device, options);
  const PlanGraph measured = lower(graph, profiles);
  write_graph(c.out, measured);
  if (!c.device_out.empty()) write_device(c.device_out, spec);
  if (c.output.json)
    print_json({{"ops", measured.ops.size()},
                {"ideal_seconds", total_seconds(measured)},
                {"device_bytes_needed", needed},
                {"device", nlohmann::ordered_json::parse(device_to_json(spec))}});
  else
    print_report(measured, spec, needed);
}

}  // namespace

void add_profile_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("profile", "Measure the seconds of every op of a model's training step, and the link");
  auto c = std::make_shared<ProfileCommand>();
  c->task.add_to(*command);
  c->optimizer.add_to(*command);
  c->device.add_to(*command);
  c->plan.add_to(*command);
  c->output.add_to(*command);
  command->add_option("--out", c->out, "Graph v1 file to write")->required();
  command->add_option("--device-out", c->device_out, "Device v1 file to write");
  command->add_option("--repeats", c->repeats, "Timed runs of each op; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->callback([c] { run_profile(*c); });
}

}  // namespace swapadvisor
