// Experiments: each regenerates a table or figure of the evaluation, from nothing but this program.
#pragma once

#include <swapadvisor/experiments/figure.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// One CSV file. Cells are written as they are.
struct ResultTable {
  std::string name;  ///< stem of the file
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// How large the workloads are: as in the paper, or so small that a test can run every experiment.
enum class ExperimentScale : std::uint8_t { paper, tiny };

struct ExperimentOptions {
  ExperimentScale scale = ExperimentScale::paper;
  bool full = false;  ///< long searches
  int threads = 1;    ///< plans made at a time; they change no number but those of measured time
  std::uint64_t seed = 1;
  /// Device to run on for real, such as "cuda:0"; empty: nothing but `prediction`, on the CPU, is measured.
  std::string measure_on{};
  std::stop_token stop{};
  std::function<void(std::int64_t done, std::int64_t total)> progress{};  ///< from any thread, one at a time
};

struct ExperimentResult {
  std::vector<ResultTable> tables;
  std::vector<Figure> figures;
  std::vector<std::string> notes;  ///< sentences: what was simulated, what measured, budgets
  std::string headline{};          ///< what came out, for the terminal; may be empty
};

/// One of `swapadvisor experiment NAME`.
struct Experiment {
  std::string name, summary;
  ExperimentResult (*run)(const ExperimentOptions&);
  std::vector<std::string> tables;  ///< names of those that it can write
};

/// All experiments in the order of docs/experiments.md.
std::vector<Experiment> experiment_list();

ExperimentResult run_models(const ExperimentOptions& options);
ExperimentResult run_throughput(const ExperimentOptions& options);
ExperimentResult run_limit(const ExperimentOptions& options);
ExperimentResult run_ablation(const ExperimentOptions& options);
ExperimentResult run_search(const ExperimentOptions& options);
ExperimentResult run_inference(const ExperimentOptions& options);
ExperimentResult run_link(const ExperimentOptions& options);
ExperimentResult run_prediction(const ExperimentOptions& options);
ExperimentResult run_rivals(const ExperimentOptions& options);

}  // namespace swapadvisor
