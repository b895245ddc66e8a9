// Many plans, several at a time: what most experiments are made of.
#pragma once

#include <swapadvisor/experiments/workloads.h>
#include <swapadvisor/swap/planner.h>

#include <optional>
#include <string>
#include <vector>

namespace swapadvisor {

/// One plan to make.
struct PlanJob {
  SharedGraph graph;
  DeviceSpec device;
  std::string planner;
  std::int64_t evaluations = 0;  ///< of planners that search
  std::uint64_t seed = 1;
  JointParts parts{};
  bool keep_program = false;
};

/// What became of it. Every plan has been through the verifier.
struct PlanOutcome {
  std::string refusal{};  ///< why there is no plan; empty when there is one
  Prediction predicted{};
  SearchReport search{};
  Program program{};  ///< with `keep_program`

  bool planned() const { return refusal.empty(); }
  double efficiency() const;  ///< in percent; NaN where there is no plan
};

/// Outcomes in the order of `jobs`, the same for any number of threads. Throws `Error` when interrupted, and
/// when a plan is not valid or beats its bound, which would be a bug.
std::vector<PlanOutcome> run_jobs(const std::vector<PlanJob>& jobs, const ExperimentOptions& options);

/// The budget of a plan of `joint`: a graph of 1,000 ops gets that many, one of N thousand ops an N-th.
double evaluations_per_1000_ops(const ExperimentOptions& options);

/// A budget of evaluations that takes about as long on every graph: `share` of what the default is.
std::int64_t evaluations_for(const PlanGraph& graph, const std::string& planner,
                             const ExperimentOptions& options, double share = 1);

/// Percent with two digits; "-" for NaN.
std::string percent_cell(double percent);

}  // namespace swapadvisor
