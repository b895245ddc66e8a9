// experiment prediction: what the simulator says against what this machine's CPU does.
#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/experiments/measured_run.h>
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace swapadvisor {
namespace {

Workload sized(std::string name, std::string model, std::int64_t batch, ModelOptions options) {
  return {std::move(name), std::move(model), std::move(options), batch};
}

std::vector<Workload> tasks(const ExperimentOptions& options) {
  if (options.scale == ExperimentScale::tiny)
    return {sized("mlp", "mlp", 32, {.image_size = 8, .hidden = 128, .layers = 8})};
  // Iterations of some tenths of a second on one core, in which copies and ops still are long.
  std::vector<Workload> all{sized("ResNet-20", "resnet20", 64, {}),
                            sized("MLP-24-512", "mlp", 256, {.hidden = 512, .layers = 24}),
                            sized("LSTM-2-384", "rnn", 32, {.hidden = 384, .layers = 2, .seq_len = 24}),
                            sized("BERT-2-256", "bert-base", 8,
                                  {.hidden = 256, .layers = 2, .seq_len = 128, .vocab = 4000, .heads = 4})};
  if (!options.full) return all;
  all.push_back(
      sized("GPT-4-256", "gpt2", 8, {.hidden = 256, .layers = 4, .seq_len = 128, .vocab = 4000, .heads = 4}));
  all.push_back(sized("MLP-40-1024", "mlp", 256, {.hidden = 1024, .layers = 40}));
  all.push_back(sized("ResNet-50", "resnet50", 4, {.image_size = 128}));
  return all;
}

constexpr std::array limit_shares{0.5, 0.25};
constexpr std::array planners{"belady", "swapadvisor", "joint"};

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

/// One configuration after the other, since nothing else may run meanwhile.
class PredictionRuns {
 public:
  explicit PredictionRuns(const ExperimentOptions& options)
      : options_(options),
        all_(tasks(options)),
        steps_(options.scale == ExperimentScale::tiny ? 4
               : options.full                         ? 40
                                                      : 8),
        total_(static_cast<std::int64_t>(all_.size() * (1 + limit_shares.size() * planners.size()))) {}

  ExperimentResult run() {
    for (const Workload& workload : all_) run(workload);
    return result();
  }

 private:
  void run(const Workload& workload) {
    MeasuredTask task{
        workload, steps_, 0, "none", 0, options_.seed, MeasuredProfile{{}, paper_device(options_.scale)}};
    const auto free_device = cpu(0);
    const MeasuredRun free = run_measured(task, *free_device, kernels_, options_.stop);
    count_run();
    const double link = link_speed(workload, free.ideal_seconds);
    Series series{workload.name, {}};
    for (double share : limit_shares) {
      task.memory_limit = static_cast<std::int64_t>(share * static_cast<double>(free.bytes_needed));
      // Ops and link anew under each limit: soon before the runs, and for all planners the same.
      task.profile.reset();
      for (const char* planner : planners) {
        task.planner = planner;
        task.evaluations = evaluations_for(free.graph, planner, options_, 0.5);
        if (const std::optional<MeasuredRun> run = measure(task, share, link)) {
          task.profile = run->profile;
          add(task, share, *run, run->parameters_hash == free.parameters_hash);
          series.points.push_back(
              {run->predicted_seconds / run->ideal_seconds, run->measured_seconds / run->ideal_seconds});
        }
        count_run();
      }
    }
    std::sort(series.points.begin(), series.points.end());
    chart_.series.push_back(std::move(series));
  }

  /// Nothing where the planner refuses: the others are still worth their time.
  std::optional<MeasuredRun> measure(const MeasuredTask& task, double share, double link) {
    const auto device = cpu(link);
    try {
      return run_measured(task, *device, kernels_, options_.stop);
    } catch (const Error& error) {
      if (options_.stop.stop_requested()) fail("interrupted");
      refusals_.push_back(fmt::format("{}: {}", name_of(task, share), error.what()));
      return std::nullopt;
    }
  }

  static std::string name_of(const MeasuredTask& task, double share) {
    return fmt::format("{}, {:.0f} % of need, {}", task.workload.name, 100 * share, task.planner);
  }

  void add(const MeasuredTask& task, double share, const MeasuredRun& run, bool same_parameters) {
    const double error = 100 * (run.measured_seconds / run.predicted_seconds - 1);
    table_.rows.push_back({task.workload.name, fmt::format("{:.0f}", 100 * share), task.planner,
                           fmt::format("{:.1f}", 1e3 * run.predicted_seconds),
                           fmt::format("{:.1f}", 1e3 * run.measured_seconds), fmt::format("{:+.1f}", error),
                           same_parameters ? "yes" : "NO"});
    sum_ += std::abs(error);
    different_ += same_parameters ? 0 : 1;
    if (std::abs(error) < std::abs(worst_)) return;
    worst_ = error;
    worst_run_ = name_of(task, share);
  }

  void count_run() {
    if (options_.progress) options_.progress(++done_, total_);
    if (options_.stop.stop_requested()) fail("interrupted");
  }

  ExperimentResult result() {
    double most = 1;
    for (const Series& series : chart_.series)
      for (const auto& point : series.points) most = std::max({most, point.first, point.second});
    chart_.series.push_back({"equal", {{1.0, 1.0}, {most, most}}, {}, true});
    const auto count = table_.rows.size();
    if (count == 0) fail("prediction: nothing ran: {}", refusals_.front());
    const double mean = sum_ / static_cast<double>(count);
    const ResultTable summary{"prediction_summary",
                              {"configurations", "mean error, %", "worst error, %", "worst configuration"},
                              {{fmt::format("{}", count), fmt::format("{:.1f}", mean),
                                fmt::format("{:.1f}", std::abs(worst_)), worst_run_}}};
    std::vector<std::string> notes{
        "Measured on this machine's CPU device with one compute thread, the link slowed down until its "
        "speed relative to the ops is a V100's. Ops and link are measured anew under each limit."};
    notes.insert(notes.end(), refusals_.begin(), refusals_.end());
    return {{table_, summary},
            {{"prediction", "Simulated against measured iteration time (CPU, one thread)", {chart_}}},
            std::move(notes),
            fmt::format("{} configurations, mean error {:.1f} %, worst {:+.1f} % ({}){}", count, mean, worst_,
                        worst_run_, different_ > 0 ? "; NOT ALL HAVE THE SAME PARAMETERS" : "")};
  }

  const ExperimentOptions& options_;
  std::vector<Workload> all_;
  std::int64_t steps_, total_, done_ = 0;
  KernelSet kernels_ = cpu_kernels();
  ResultTable table_{"prediction",
                     {"workload", "limit, % of need", "planner", "predicted, ms", "measured, ms", "error, %",
                      "same parameters"},
                     {}};
  Chart chart_{"", "simulated slowdown (iteration / ideal)", "measured slowdown", false, false, {}, {}};
  double sum_ = 0, worst_ = 0;
  std::int64_t different_ = 0;
  std::string worst_run_;
  std::vector<std::string> refusals_;
};

}  // namespace

ExperimentResult run_prediction(const ExperimentOptions& options) {
  return PredictionRuns(options).run();
}

}  // namespace swapadvisor
