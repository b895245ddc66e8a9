// Ways to search for a plan, side by side at equal numbers of evaluations.
#pragma once

#include <swapadvisor/experiments/workloads.h>

#include <string_view>
#include <vector>

namespace swapadvisor {

/// genetic: planner `swapadvisor`. annealing, random: other searches over its encoding. greedy: the best of
/// its starting points. joint: planner `joint`.
enum class SearchMethod : std::uint8_t { genetic, annealing, random, greedy, joint };

std::string_view name_of(SearchMethod method);

struct SearchJob {
  SharedGraph graph;
  DeviceSpec device;
  SearchMethod method = SearchMethod::genetic;
  std::vector<std::int64_t> budgets;  ///< in evaluations, rising
  std::uint64_t seed = 1;
};

/// Per job and budget, the efficiency of the best plan in percent; NaN where there is none.
std::vector<std::vector<double>> run_searches(const std::vector<SearchJob>& jobs,
                                              const ExperimentOptions& options);

}  // namespace swapadvisor
