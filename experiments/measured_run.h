// Training runs of a few steps, measured: the other side of every prediction.
#pragma once

#include <swapadvisor/core/backend.h>
#include <swapadvisor/experiments/workloads.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace swapadvisor {

/// Measured seconds of ops, and the link.
struct MeasuredProfile {
  std::vector<OpProfile> ops{};  ///< empty: not measured
  DeviceSpec device{};
};

/// What to train, with made-up data.
struct MeasuredTask {
  Workload workload;
  std::int64_t steps = 8;
  std::int64_t memory_limit = 0;  ///< bytes; 0: none
  std::string planner{};          ///< empty: none
  std::int64_t evaluations = 0;
  std::uint64_t seed = 1;
  std::optional<MeasuredProfile> profile{};  ///< of the same graph and device; absent: measured now
};

struct MeasuredRun {
  std::int64_t bytes_needed = 0, bytes_limit = 0;
  double ideal_seconds = 0;      ///< measured ops, summed
  double predicted_seconds = 0;  ///< per iteration
  double measured_seconds = 0;   ///< per iteration, the median of the steady ones
  PlanGraph graph{};             ///< with measured seconds
  MeasuredProfile profile{};
  std::string parameters_hash{};
};

/// Measures the ops and the link unless that was done, plans, trains. Throws `Error` as `Trainer` does.
MeasuredRun run_measured(const MeasuredTask& task, Device& device, const KernelSet& kernels,
                         std::stop_token stop);

/// Throws `Error` unless `name` is cuda or cuda:N.
void check_measured_name(const std::string& name);

/// The GPU that --measure names. Throws `Error` in one sentence when there is none.
Backend open_measured(const std::string& name);

/// Every workload that this machine's host memory holds, trained for a few steps on `options.measure_on` with
/// the paper's memory limit: a table of predicted and measured efficiency. What does not run is a row that
/// says why. `measured` is called after each workload.
ResultTable measure_workloads(const ExperimentOptions& options, const std::vector<Workload>& all,
                              const std::function<void()>& measured = {});

}  // namespace swapadvisor
