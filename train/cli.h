// The command line: shared options and the commands. Each command is one file, command_NAME.cpp.
#pragma once

#include <swapadvisor/core/backend.h>
#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/models/registry.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/train/dataset.h>
#include <swapadvisor/train/progress.h>
#include <swapadvisor/train/session.h>
#include <swapadvisor/train/training_graph.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace swapadvisor {

/// Adds a command.
using AddCommand = void (*)(CLI::App& app);

/// Runs the command line, with `more` commands from folders above this one. Returns the exit code: 0 success,
/// 1 failure, 2 bad usage.
int run_command_line(int argc, const char* const* argv, std::initializer_list<AddCommand> more = {});

/// What every command takes.
struct OutputOptions {
  bool json = false;
  bool quiet = false;

  void add_to(CLI::App& command);
  bool people() const { return !json && !quiet; }
};

/// One JSON object on standard output.
void print_json(const nlohmann::ordered_json& object);

/// Which model, on what data.
struct TaskOptions {
  std::string model;
  ModelOptions model_options;
  std::string dataset = "synthetic";
  std::string data, vocab_file, merges_file;
  std::int64_t batch_size = 128;   ///< of a micro-batch
  std::int64_t accumulate = 1;     ///< micro-batches per step
  std::string precision = "fp32";  ///< what to compute in: fp32, bf16

  void add_to(CLI::App& command, bool model_required = true);
  /// The data set of that split, made for the model: synthetic data take its shapes, for example.
  std::unique_ptr<Dataset> open(Split split, std::uint64_t seed) const;
  /// The test data to measure a training by; none where there are none.
  std::unique_ptr<Dataset> open_test(std::uint64_t seed) const;
  /// The model with what the data decide: image size, channels, classes, vocabulary. Options must agree with
  /// them.
  Model settle(const Dataset& dataset) const;
  /// Scaling of the images, batch size, precision.
  StepOptions step_options(const Dataset& dataset) const;
  DType dtype() const;  ///< that `precision` stands for
};

struct OptimizerCommandOptions {
  OptimizerOptions optimizer;
  double label_smoothing = 0;
  std::optional<double> learning_rate;

  void add_to(CLI::App& command);
  /// Wrong numbers, and options of another optimizer than the one chosen, are bad usage.
  void check_usage() const;
  double rate() const { return learning_rate.value_or(optimizer.default_learning_rate()); }

 private:
  std::vector<const CLI::Option*> of_sgd_, of_adam_;
};

/// Device to run on.
struct DeviceCommandOptions {
  std::string device = "cpu";  ///< cpu, cuda or cuda:N
  int threads = 0;
  std::string link_bandwidth;
  bool allow_tf32 = false, fast = false;  ///< of CUDA
  bool cuda_graph = false;                ///< of commands that run many iterations

  void add_to(CLI::App& command);
  void add_graph_to(CLI::App& command);  ///< `--cuda-graph`
  /// The device and its kernels. Options of another device are bad usage. Throws `Error` where there is no
  /// such device.
  Backend open() const;
  /// All that op seconds depend on besides the graph: part of what a cached plan is found by.
  std::string context(const Device& opened) const;
};

/// Limits, planner and search.
struct PlanCommandOptions {
  std::string memory_limit;
  std::string host_limit;
  std::string planner;
  double search_seconds = 0;
  std::int64_t search_evaluations = 0;
  bool no_cache = false;

  void add_to(CLI::App& command);
  std::optional<SizeLimit> limit() const;
  std::int64_t host_bytes() const;       ///< unbounded when not given
  double search_budget_seconds() const;  ///< 0: none, because there is one in evaluations
};

/// Adds `--NAME` with a check: what `validate` throws is bad usage.
template <class F>
CLI::Option* add_checked(CLI::App& command, const std::string& name, std::string& value,
                         const std::string& help, F validate) {
  return command.add_option(name, value, help)->check([validate](const std::string& text) {
    try {
      validate(text);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  });
}

/// A check for seeds: whole numbers that fit, nothing wrapped or rounded.
CLI::Validator whole_seed();

/// Which ends belong to a range.
enum class Ends { both, above_low, below_high, neither };

/// A check for numbers: finite and from `low` to `high`.
CLI::Validator finite_range(double low, double high, Ends ends = Ends::both);

/// Runs `f`; an `Error` it throws is bad usage (exit code 2).
template <class F>
auto as_usage(F f) {
  try {
    return f();
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
}

/// Throws `Error` unless files can be made at these paths (empty ones are skipped): before hours of work, not
/// after.
void check_writable(std::initializer_list<std::string> paths);

/// Shows how a search with that budget is going; `reporter` must outlive the function.
std::function<void(const PlanProgress&)> report_search(ProgressReporter& reporter, double search_seconds,
                                                       std::int64_t search_evaluations);

/// A sentence about what is not as it should be, on standard error.
void warn(const std::string& sentence);

/// A stop token that Ctrl-C triggers; a second Ctrl-C ends the process. Signals are blocked for the whole
/// process, so it must be made before other threads are.
class InterruptStop {
 public:
  InterruptStop();
  ~InterruptStop();
  std::stop_token token() const { return source_.get_token(); }

 private:
  friend class InterruptPart;
  void interrupt();

  std::stop_source source_;
  std::mutex part_mutex_;
  std::stop_source* part_ = nullptr;  // of the InterruptPart there is
  std::jthread waiter_;
};

/// A part of the work, while it lives: the first Ctrl-C ends only the part, a second one all the work. At
/// most one part at a time. What has stopped the work already stops the part.
class InterruptPart {
 public:
  explicit InterruptPart(InterruptStop& whole);
  ~InterruptPart();
  InterruptPart(const InterruptPart&) = delete;
  InterruptPart& operator=(const InterruptPart&) = delete;
  std::stop_token token() const { return source_.get_token(); }

 private:
  InterruptStop& whole_;
  std::stop_source source_;
};

void add_train_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_step_command(CLI::App& app);
void add_profile_command(CLI::App& app);
void add_plan_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_verify_command(CLI::App& app);
void add_cache_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_list_commands(CLI::App& app);  ///< models, planners, devices

}  // namespace swapadvisor
