#include <fmt/format.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/experiments/command_experiment.h>
#include <swapadvisor/experiments/measured_run.h>
#include <swapadvisor/experiments/output.h>
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/experiments/source_commit.h>
#include <swapadvisor/experiments/workloads.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/train/cli.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>

namespace swapadvisor {
namespace {

struct ExperimentCommand {
  std::vector<std::string> names;
  std::string out, document, measure;
  bool list = false, full = false;
  int threads = 0;
  std::uint64_t seed = 1;
  OutputOptions output;
};

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// The processor's name and the cores that this process sees.
std::string machine() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, model = "unknown processor";
  while (std::getline(file, line))
    if (line.starts_with("model name")) {
      if (const std::size_t colon = line.find(": "); colon != std::string::npos)
        model = line.substr(colon + 2);
      break;
    }
  return fmt::format("{}, {} cores", model, std::thread::hardware_concurrency());
}

/// In the order of the list, each once.
std::vector<Experiment> chosen(const std::vector<std::string>& names) {
  const std::vector<Experiment> all = experiment_list();
  const auto is_named = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> known;
  for (const Experiment& experiment : all) known.push_back(experiment.name);
  for (const std::string& name : names)
    if (name != "all" && std::find(known.begin(), known.end(), name) == known.end())
      throw CLI::ValidationError(fmt::format("there is no experiment '{}': expected all, or some of {}", name,
                                             fmt::join(known, ", ")));
  if (is_named("all")) return all;
  std::vector<Experiment> result;
  std::copy_if(all.begin(), all.end(), std::back_inserter(result),
               [&](const Experiment& experiment) { return is_named(experiment.name); });
  return result;
}

/// One line per experiment that is redrawn on a terminal, with the time left.
class ExperimentProgress {
 public:
  ExperimentProgress(std::string name, bool quiet) : name_(std::move(name)), mode_(progress_mode(quiet)) {}
  ~ExperimentProgress() {
    if (drawn_) std::fputc('\n', stderr);
  }
  ExperimentProgress(const ExperimentProgress&) = delete;
  ExperimentProgress& operator=(const ExperimentProgress&) = delete;

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void update(std::int64_t done, std::int64_t total) {
    if (mode_ == ProgressMode::silent) return;
    const double left =
        seconds() * static_cast<double>(total - done) / static_cast<double>(std::max<std::int64_t>(1, done));
    const std::string line =
        fmt::format("{:<12}{:>4} of {} ({:.0f} %)  {} elapsed, {} left", name_, done, total,
                    100.0 * static_cast<double>(done) / static_cast<double>(total), format_clock(seconds()),
                    format_clock(left));
    if (mode_ == ProgressMode::redraw) {
      fmt::print(stderr, "\r{:<78}", line);
      drawn_ = true;
    } else if (done == total || seconds() - shown_ > 30) {
      fmt::print(stderr, "{}\n", line);
      shown_ = seconds();
    }
    std::fflush(stderr);
  }

 private:
  std::string name_;
  ProgressMode mode_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool drawn_ = false;
  double shown_ = 0;
};

void list_experiments(bool as_json) {
  auto json = nlohmann::ordered_json::array();
  for (const Experiment& e : experiment_list()) {
    if (as_json)
      json.push_back({{"name", e.name}, {"summary", e.summary}});
    else
      fmt::print("{:<14}{}\n", e.name, e.summary);
  }
  if (as_json) print_json({{"experiments", json}});
}

std::string measured_on(const std::string& experiment, const std::string& gpu) {
  if (experiment == "prediction") return "cpu";
  return experiment == "limit" ? gpu : "";
}

/// Ctrl-C is one sentence, whatever the work that it met says.
ExperimentResult run_until_stopped(const Experiment& experiment, const ExperimentOptions& options,
                                   const std::vector<std::string>& complete, const std::string& folder) {
  try {
    return experiment.run(options);
  } catch (const Error&) {
    if (!options.stop.stop_requested()) throw;
  }
  if (complete.empty()) fail("interrupted: nothing was written");
  fail("interrupted in {}; complete in {}: {}", experiment.name, folder, fmt::join(complete, ", "));
}

/// Before minutes of planning, not after.
void check_measuring(const std::string& measure, const std::vector<Experiment>& experiments) {
  if (measure.empty()) return;
  as_usage([&] { check_measured_name(measure); });
  if (std::none_of(experiments.begin(), experiments.end(),
                   [](const Experiment& experiment) { return experiment.name == "limit"; }))
    throw CLI::ValidationError(
        fmt::format("--measure is for limit and all; {} runs nothing on a GPU", experiments.front().name));
  open_measured(measure);
}

void run_experiments(const ExperimentCommand& c) {
  if (c.list) return list_experiments(c.output.json);
  if (c.names.empty())
    throw CLI::ValidationError(
        "which experiment? `swapadvisor experiment --list` shows them; `all` runs them all");
  if (c.out.empty()) throw CLI::ValidationError("--out DIR is required: where the tables and figures go");
  const std::vector<Experiment> experiments = chosen(c.names);
  if (!c.document.empty()) check_document(c.document, experiments);
  check_measuring(c.measure, experiments);
  InterruptStop interrupt;
  ResultFolder folder(c.out);
  ExperimentOptions options;
  options.full = c.full;
  options.threads =
      c.threads > 0 ? c.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.seed = c.seed;
  options.measure_on = c.measure;
  options.stop = interrupt.token();
  auto json = nlohmann::ordered_json::array();
  std::vector<std::string> complete;
  for (const Experiment& experiment : experiments) {
    ExperimentProgress progress(experiment.name, c.output.quiet);
    options.progress = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); };
    const ExperimentResult result = run_until_stopped(experiment, options, complete, c.out);
    const double seconds = progress.seconds();
    folder.add(experiment, result,
               {{"program", "swapadvisor " SWAPADVISOR_VERSION},
                {"commit", source_commit},
                {"made", now_utc()},
                {"seconds", seconds},
                {"threads", options.threads},
                {"seed", options.seed},
                {"full", options.full},
                {"evaluations_per_1000_ops", evaluations_per_1000_ops(options)},
                {"machine", machine()},
                {"measured_on", measured_on(experiment.name, c.measure)},
                {"device", nlohmann::ordered_json::parse(device_to_json(paper_device(options.scale)))}});
    if (!c.document.empty()) update_document(c.document, result);
    json.push_back({{"name", experiment.name}, {"seconds", seconds}});
    if (!result.headline.empty()) json.back()["headline"] = result.headline;
    complete.push_back(experiment.name);
    if (!c.output.json && !result.headline.empty()) fmt::print("{}: {}\n", experiment.name, result.headline);
  }
  if (c.output.json)
    print_json({{"out", c.out}, {"experiments", json}});
  else
    fmt::print("{}/index.html\n", c.out);
}

}  // namespace

void add_experiment_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("experiment", "Regenerate the tables and figures of the evaluation");
  auto c = std::make_shared<ExperimentCommand>();
  command->add_option("NAME", c->names, "Experiments, or all");
  command->add_flag("--list", c->list, "Show the experiments there are");
  command->add_option("--out", c->out, "Folder for CSV, SVG, PNG, index.html and manifest.json");
  command->add_flag("--full", c->full, "Long searches: hours instead of minutes");
  command->add_option("--measure", c->measure, "Also run for real, on this GPU: cuda or cuda:N");
  command
      ->add_option("--threads", c->threads,
                   "Plans made at a time; 0: one per core. No simulated number depends on it")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--seed", c->seed, "Seed of the searches")->check(whole_seed())->capture_default_str();
  command
      ->add_option("--update", c->document, "Replace the tables in this Markdown file (docs/experiments.md)")
      ->check(CLI::ExistingFile);
  c->output.add_to(*command);
  command->callback([c] { run_experiments(*c); });
}

}  // namespace swapadvisor
