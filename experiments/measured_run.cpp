#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/experiments/measured_run.h>
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/trainer.h>

#include <charconv>

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
  run.parameters_hash = report.parameters_hash;
  return run;
}

int gpu_index(const std::string& name) {
  int index = 0;
  if (name == "cuda") return index;
  const std::string_view text = std::string_view(name).substr(std::min<std::size_t>(name.size(), 5));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (!name.starts_with("cuda:") || error != std::errc() || end != text.data() + text.size() || index < 0)
    fail("--measure takes cuda or cuda:N, not '{}'", name);
  return index;
}

ResultTable measure_workloads(const ExperimentOptions& options, const std::vector<Workload>& all) {
  CudaOptions gpu;
  gpu.index = gpu_index(options.measure_on);
  gpu.warn = warn;
  const Backend backend = open_cuda(gpu);
  ResultTable table{
      "measured",
      {"workload", "device", "limit, GB", "predicted, % of ideal", "measured, % of ideal", "note"},
      {}};
  for (const Workload& workload : all) {
    if (options.stop.stop_requested()) fail("interrupted");
    const std::int64_t needed =
        device_bytes_needed(*training_graph(workload, workload.batch_size, paper_compute()));
    std::vector<std::string> row{workload.name, options.measure_on};
    const std::int64_t limit = paper_device(options.scale).memory_bytes;
    if (needed > available_memory_bytes()) {
      row.insert(row.end(), {"-", "-", "-",
                             fmt::format("the host has too little memory for {:.0f} GB",
                                         static_cast<double>(needed) / 1e9)});
    } else {
      const MeasuredRun run = run_measured({workload, 8, limit, "joint", 2000, options.seed}, *backend.device,
                                           backend.kernels, options.stop);
      row.insert(row.end(), {fmt::format("{:.2f}", static_cast<double>(limit) / 1e9),
                             percent_cell(100 * run.ideal_seconds / run.predicted_seconds),
                             percent_cell(100 * run.ideal_seconds / run.measured_seconds), ""});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace swapadvisor
