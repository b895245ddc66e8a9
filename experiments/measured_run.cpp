#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/experiments/measured_run.h>
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/gpu_index.h>
#include <swapadvisor/train/trainer.h>

namespace swapadvisor {

MeasuredRun run_measured(const MeasuredTask& task, Device& device, const KernelSet& kernels,
                         std::stop_token stop) {
  TaskOptions made_up;
  made_up.model = task.workload.model;
  made_up.model_options = task.workload.options;
  made_up.batch_size = task.workload.batch_size;
  const auto data = made_up.open(Split::train, task.seed);
  const Model model = made_up.settle(*data);
  TrainerOptions options;
  options.step = made_up.step_options(*data);
  options.loader.batch_size = task.workload.batch_size;
  options.loader.seed = task.seed;
  options.steps = task.steps;
  options.stop = stop;
  options.session.stop = std::move(stop);
  options.session.planner = task.planner;
  options.session.search_evaluations = task.evaluations;
  options.session.profile_repeats = 5;
  options.session.seed = task.seed;
  if (task.profile) {
    if (!task.profile->ops.empty()) options.session.op_profiles = task.profile->ops;
    options.session.device_spec = task.profile->device;
  }
  if (task.memory_limit > 0) options.session.memory_limit = SizeLimit{task.memory_limit};
  DeviceHostStore host(device);
  Trainer trainer(model, *data, nullptr, device, host, kernels, std::move(options));
  const TrainReport report = trainer.run();
  const Session& session = trainer.session();
  MeasuredRun run;
  run.bytes_needed = session.bytes_needed();
  run.bytes_limit = session.bytes_limit();
  run.ideal_seconds = session.program().predicted.ideal_seconds;
  run.predicted_seconds = session.program().predicted.iteration_seconds;
  run.measured_seconds = report.iteration_seconds;
  run.graph = session.program().graph;
  run.profile = {session.op_profiles(), session.device_spec()};
  run.parameters_hash = report.parameters_hash;
  return run;
}

void check_measured_name(const std::string& name) {
  try {
    if (gpu_index(name)) return;
  } catch (const Error&) {  // said below
  }
  fail("--measure takes cuda or cuda:N, not '{}'", name);
}

Backend open_measured(const std::string& name) {
  check_measured_name(name);
  try {
    return open_cuda({.index = *gpu_index(name), .warn = warn});
  } catch (const Error& error) {
    fail("--measure {}: {}", name, error.what());
  }
}

namespace {

/// Predicted and measured efficiency in percent, and why not.
struct Compared {
  std::string predicted = "-", measured = "-", note{};
};

Compared compare(const Workload& workload, const ExperimentOptions& options, const Backend& gpu,
                 std::int64_t limit) {
  const std::int64_t needed =
      device_bytes_needed(*training_graph(workload, workload.batch_size, paper_compute()));
  const auto refusal = [](const char* who, std::int64_t bytes) {
    return Compared{"-", "-", fmt::format("{} for {:.1f} GB", who, static_cast<double>(bytes) / 1e9)};
  };
  if (needed > available_memory_bytes()) return refusal("the host has too little memory", needed);
  if (limit > gpu.device->free_bytes()) return refusal("the GPU has too little free memory", limit);
  try {
    const MeasuredRun run = run_measured({workload, 8, limit, "joint", 2000, options.seed}, *gpu.device,
                                         gpu.kernels, options.stop);
    return {percent_cell(100 * run.ideal_seconds / run.predicted_seconds),
            percent_cell(100 * run.ideal_seconds / run.measured_seconds)};
  } catch (const Error& error) {
    // The others are worth their time, and what was simulated before.
    if (options.stop.stop_requested()) fail("interrupted");
    return {"-", "-", error.what()};
  }
}

}  // namespace

ResultTable measure_workloads(const ExperimentOptions& options, const std::vector<Workload>& all,
                              const std::function<void()>& measured) {
  const Backend gpu = open_measured(options.measure_on);
  const std::int64_t limit = paper_device(options.scale).memory_bytes;
  ResultTable table{
      "measured",
      {"workload", "device", "limit, GB", "predicted, % of ideal", "measured, % of ideal", "note"},
      {}};
  for (const Workload& workload : all) {
    if (options.stop.stop_requested()) fail("interrupted");
    const Compared compared = compare(workload, options, gpu, limit);
    table.rows.push_back({workload.name, options.measure_on,
                          fmt::format("{:.2f}", static_cast<double>(limit) / 1e9), compared.predicted,
                          compared.measured, compared.note});
    if (measured) measured();
  }
  return table;
}

}  // namespace swapadvisor
