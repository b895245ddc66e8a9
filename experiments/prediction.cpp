// experiment prediction: what the simulator says against what this machine's CPU does.
#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/experiments/measured_run.h>
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace swapadvisor {
namespace {

Workload sized(std::string name, std::string model, std::int64_t batch, std::optional<std::int64_t> hidden,
               std::optional<std::int64_t> layers, std::optional<std::int64_t> seq_len) {
  Workload workload{std::move(name), std::move(model), {}, batch};
  workload.options.hidden = hidden;
  workload.options.layers = layers;
  workload.options.seq_len = seq_len;
  return workload;
}

std::vector<Workload> tasks(ExperimentScale scale) {
  if (scale == ExperimentScale::tiny) {
    Workload mlp = sized("mlp", "mlp", 32, 128, 8, {});
    mlp.options.image_size = 8;
    return {mlp};
  }
  Workload resnet{"ResNet-20", "resnet20", {}, 64}, resnet50{"ResNet-50", "resnet50", {}, 4};
  resnet50.options.image_size = 128;
  return {resnet,
          resnet50,
          sized("MLP-40-1024", "mlp", 256, 1024, 40, {}),
          sized("LSTM-2-384", "rnn", 32, 384, 2, 24),
          sized("BERT-2-256", "bert-base", 8, 256, 2, 128),
          sized("GPT-4-256", "gpt2", 8, 256, 4, 128)};
}

/// The largest share of memory that one op takes decides how low a limit can be.
constexpr std::array limit_shares{0.5, 0.25};

std::unique_ptr<Device> cpu(double link_bytes_per_second) {
  CpuDeviceOptions device;
  device.threads = 1;
  device.link_bytes_per_second = link_bytes_per_second;
  return make_cpu_device(device);
}

/// The link's speed relative to the ops is a V100's.
double link_speed(const Workload& workload, double ideal_seconds) {
  constexpr double v100_link = 12e9;
  return v100_link * total_seconds(*training_graph(workload, workload.batch_size, paper_compute())) /
         ideal_seconds;
}

}  // namespace

ExperimentResult run_prediction(const ExperimentOptions& options) {
  const std::array planners{"belady", "swapadvisor", "joint"};
  const std::vector<Workload> all = tasks(options.scale);
  const KernelSet kernels = cpu_kernels();
  ResultTable table{"prediction",
                    {"workload", "limit, % of need", "planner", "predicted, ms", "measured, ms", "error, %",
                     "same parameters"},
                    {}};
  Figure figure{"prediction", "Simulated against measured iteration time (CPU, one thread)", {}};
  Chart chart{"", "simulated slowdown (iteration / ideal)", "measured slowdown", false, false, {}, {}};
  double worst = 0, sum = 0;
  std::int64_t count = 0;
  const auto total = static_cast<std::int64_t>(all.size() * (1 + limit_shares.size() * planners.size()));
  const auto progress = [&, done = std::int64_t{0}]() mutable {
    if (options.progress) options.progress(++done, total);
    if (options.stop.stop_requested()) fail("interrupted");
  };
  auto step = progress;
  for (const Workload& workload : all) {
    const std::int64_t steps = options.scale == ExperimentScale::tiny ? 4 : options.full ? 40 : 14;
    const auto free_device = cpu(0);
    const MeasuredRun free =
        run_measured({workload, steps, 0, "none", 0, options.seed}, *free_device, kernels, options.stop);
    step();
    const double link = link_speed(workload, free.ideal_seconds);
    Series series{workload.name, {}};
    for (double share : limit_shares)
      for (const char* planner : planners) {
        const auto limit = static_cast<std::int64_t>(share * static_cast<double>(free.bytes_needed));
        const auto device = cpu(link);
        const std::int64_t evaluations = evaluations_for(free.graph, planner, options, 0.5);
        const MeasuredRun run = run_measured({workload, steps, limit, planner, evaluations, options.seed},
                                             *device, kernels, options.stop);
        const double error = 100 * (run.measured_seconds / run.predicted_seconds - 1);
        worst = std::max(worst, std::abs(error));
        sum += std::abs(error);
        ++count;
        series.points.push_back(
            {run.predicted_seconds / run.ideal_seconds, run.measured_seconds / run.ideal_seconds});
        table.rows.push_back({workload.name, fmt::format("{:.0f}", 100 * share), planner,
                              fmt::format("{:.1f}", 1e3 * run.predicted_seconds),
                              fmt::format("{:.1f}", 1e3 * run.measured_seconds),
                              fmt::format("{:+.1f}", error),
                              run.parameters_hash == free.parameters_hash ? "yes" : "NO"});
        step();
      }
    std::sort(series.points.begin(), series.points.end());
    chart.series.push_back(std::move(series));
  }
  Series diagonal{"equal", {}, {}, true};
  double most = 1;
  for (const Series& series : chart.series)
    for (const auto& point : series.points) most = std::max({most, point.first, point.second});
  diagonal.points = {{1.0, 1.0}, {most, most}};
  chart.series.push_back(diagonal);
  figure.charts.push_back(chart);
  ResultTable summary{"prediction_summary", {"configurations", "mean error, %", "worst error, %"}, {}};
  summary.rows.push_back({fmt::format("{}", count), fmt::format("{:.1f}", sum / static_cast<double>(count)),
                          fmt::format("{:.1f}", worst)});
  return {{table, summary},
          {figure},
          {"Measured on this machine's CPU device with one compute thread, the link slowed down until its "
           "speed relative to the ops is a V100's. Ops and link are measured anew before every run."}};
}

}  // namespace swapadvisor
