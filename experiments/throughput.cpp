// experiment throughput: samples per second against batch size, as a share of what unlimited memory would
// give.
#include <swapadvisor/experiments/plan_jobs.h>

#include <algorithm>
#include <map>
#include <string>

namespace swapadvisor {
namespace {

/// From what nearly fits to three times the batch of `models`: 12 x 16 GB for most.
std::vector<std::int64_t> batches(const Workload& workload) {
  std::vector<std::int64_t> sizes;
  for (double factor : {0.25, 0.5, 1.0, 2.0, 3.0})
    sizes.push_back(std::max<std::int64_t>(
        1, static_cast<std::int64_t>(factor * static_cast<double>(workload.batch_size))));
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

/// How often `joint` is at or above every other planner, and by how much it is not where it is not.
ResultTable joint_summary(const ResultTable& table) {
  constexpr std::size_t workload = 0, batch = 1, planner = 3, percent = 4;
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> best;  // joint, the others
  for (const auto& row : table.rows) {
    auto& [joint, others] = best[{row[workload], row[batch]}];
    if (row[percent] == "-") continue;
    (row[planner] == "joint" ? joint : others) =
        std::max(row[planner] == "joint" ? joint : others, std::stod(row[percent]));
  }
  std::int64_t reached = 0;
  double worst = 0;
  for (const auto& [key, pair] : best) {
    if (pair.first >= pair.second) ++reached;
    worst = std::max(worst, pair.second - pair.first);
  }
  return {"throughput_summary",
          {"configurations", "joint at or above all others", "largest shortfall, points"},
          {{fmt::format("{}", best.size()), fmt::format("{}", reached), fmt::format("{:.2f}", worst)}}};
}

}  // namespace

ExperimentResult run_throughput(const ExperimentOptions& options) {
  std::vector<std::string> planners;
  for (const PlannerInfo& info : planner_list())
    if (info.name != "none") planners.push_back(info.name);
  const std::vector<Workload> all = workloads(options.scale);
  std::vector<PlanJob> jobs;
  for (const Workload& workload : all)
    for (std::int64_t batch : batches(workload)) {
      const SharedGraph graph = training_graph(workload, batch, paper_compute());
      for (const std::string& planner : planners) {
        PlanJob job{graph, paper_device(options.scale), planner, 0, options.seed};
        job.evaluations = evaluations_for(*graph, planner, options);
        jobs.push_back(job);
      }
    }
  const std::vector<PlanOutcome> outcomes = run_jobs(jobs, options);
  ResultTable table{
      "throughput",
      {"workload", "batch", "times 16 GB", "planner", "% of ideal", "samples/s", "samples/s ideal"},
      {}};
  Figure figure{"throughput", "Training throughput on a 16 GB V100, relative to one without a limit", {}};
  std::size_t at = 0;
  for (const Workload& workload : all) {
    Chart chart{workload.name, "batch size", "% of ideal", true, true, {}, {}};
    for (const std::string& planner : planners) chart.series.push_back({planner, {}});
    chart.series.push_back({"upper bound", {}, {}, true});
    for (std::int64_t batch : batches(workload)) {
      const PlanGraph& graph = *jobs[at].graph;
      const double ideal = total_seconds(graph), b = static_cast<double>(batch);
      const double times =
          static_cast<double>(device_bytes_needed(graph)) / static_cast<double>(paper_memory_bytes);
      double bound = 100;
      for (std::size_t p = 0; p < planners.size(); ++p, ++at) {
        const PlanOutcome& outcome = outcomes[at];
        chart.series[p].points.push_back({b, outcome.efficiency()});
        if (outcome.planned())
          bound = 100 * outcome.predicted.ideal_seconds / outcome.predicted.bound_seconds;
        table.rows.push_back(
            {workload.name, fmt::format("{}", batch), fmt::format("{:.2f}", times), planners[p],
             percent_cell(outcome.efficiency()),
             outcome.planned() ? fmt::format("{:.3f}", b / outcome.predicted.iteration_seconds) : "-",
             fmt::format("{:.3f}", b / ideal)});
      }
      chart.series.back().points.push_back({b, bound});
    }
    figure.charts.push_back(chart);
  }
  const ResultTable summary = joint_summary(table);
  const std::vector<std::string>& sums = summary.rows.front();
  return {{table, summary},
          {figure},
          {"Simulated on v100-16g. A dash: the planner refuses, since one op alone does not fit."},
          fmt::format("joint at or above all other planners in {} of {} configurations", sums[1], sums[0])};
}

}  // namespace swapadvisor
