// experiment limit: efficiency against the memory limit, with the bounds.
#include <swapadvisor/experiments/measured_run.h>
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/memory/liveness.h>
#include <swapadvisor/swap/bounds.h>

#include <algorithm>
#include <array>

namespace swapadvisor {
namespace {

constexpr std::array fractions{1.0, 0.5, 0.25, 0.125, 0.0625};

/// Shares of the need, not below what one op takes.
std::vector<std::int64_t> limits(const PlanGraph& graph) {
  const std::int64_t needed = device_bytes_needed(graph), least = largest_op_bytes(graph);
  std::vector<std::int64_t> result;
  for (double fraction : fractions) {
    const auto limit = std::max(least, static_cast<std::int64_t>(fraction * static_cast<double>(needed)));
    if (result.empty() || limit < result.back()) result.push_back(limit);
  }
  return result;
}

}  // namespace

ExperimentResult run_limit(const ExperimentOptions& options) {
  const std::vector<std::string> planners = {"lru", "belady", "checkpoint", "swapadvisor", "joint"};
  const std::vector<Workload> all = workloads(options.scale);
  if (!options.measure_on.empty()) open_measured(options.measure_on);  // before the planning
  std::vector<SharedGraph> graphs;
  std::vector<PlanJob> jobs;
  for (const Workload& workload : all) {
    graphs.push_back(training_graph(workload, workload.batch_size, paper_compute()));
    for (std::int64_t limit : limits(*graphs.back()))
      for (const std::string& planner : planners) {
        PlanJob job{graphs.back(), paper_device(options.scale), planner, 0, options.seed};
        job.device.memory_bytes = limit;
        job.evaluations = evaluations_for(*graphs.back(), planner, options, 1.5);
        jobs.push_back(job);
      }
  }
  // Runs on a GPU, one per workload, come after the plans.
  ExperimentOptions planning = options;
  std::int64_t done = 0, total = 0;
  if (options.progress && !options.measure_on.empty())
    planning.progress = [&](std::int64_t planned, std::int64_t plans) {
      total = plans + std::ssize(all);
      options.progress(done = planned, total);
    };
  const std::vector<PlanOutcome> outcomes = run_jobs(jobs, planning);
  ResultTable table{
      "limit",
      {"workload", "limit, GB", "% of need", "planner", "% of ideal", "swap-only bound, %", "upper bound, %"},
      {}};
  Figure figure{"limit", "Efficiency against the memory limit (V100, 12 GB/s each way)", {}};
  std::size_t at = 0;
  for (std::size_t w = 0; w < all.size(); ++w) {
    const PlanGraph& graph = *graphs[w];
    const auto needed = static_cast<double>(device_bytes_needed(graph));
    std::vector<std::int32_t> given(graph.ops.size());
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = static_cast<std::int32_t>(i);
    Chart chart{all[w].name, "limit, % of the need", "% of ideal", true, true, {}, {}};
    for (const std::string& planner : planners) chart.series.push_back({planner, {}});
    chart.series.push_back({"swap-only bound, given order", {}, {}, true});
    chart.series.push_back({"upper bound", {}, {}, true});
    for (std::int64_t limit : limits(graph)) {
      const DeviceSpec& device = jobs[at].device;
      const double share = 100 * static_cast<double>(limit) / needed, ideal = 100 * total_seconds(graph);
      const double swap_bound = ideal / swap_bound_seconds(graph, given, device, limit);
      const double bound = ideal / bound_seconds(graph, device);
      for (std::size_t p = 0; p < planners.size(); ++p, ++at) {
        chart.series[p].points.push_back({share, outcomes[at].efficiency()});
        table.rows.push_back({all[w].name, fmt::format("{:.2f}", static_cast<double>(limit) / 1e9),
                              fmt::format("{:.1f}", share), planners[p],
                              percent_cell(outcomes[at].efficiency()), percent_cell(swap_bound),
                              percent_cell(bound)});
      }
      chart.series[planners.size()].points.push_back({share, swap_bound});
      chart.series.back().points.push_back({share, bound});
    }
    figure.charts.push_back(chart);
  }
  ExperimentResult result{{table},
                          {figure},
                          {"Simulated on v100-16g with other memory sizes. The lowest limit of each workload "
                           "is 1/16 of its need, or what its largest op takes."}};
  if (options.measure_on.empty()) return result;
  result.tables.push_back(measure_workloads(options, all, [&] {
    if (options.progress) options.progress(++done, total);
  }));
  result.notes.push_back(
      fmt::format("measured.csv: measured on {}, beside what was predicted from its own ops and link.",
                  options.measure_on));
  return result;
}

}  // namespace swapadvisor
