// experiment link: efficiency against link speed and compute speed.
#include <swapadvisor/experiments/plan_jobs.h>

#include <algorithm>
#include <array>

namespace swapadvisor {
namespace {

struct Link {
  const char* name;
  double bytes_per_second, duplex;
};

// What pinned copies reach, each way and both together.
constexpr std::array links{Link{"PCIe 3", 12e9, 20e9}, Link{"PCIe 4", 24e9, 40e9}, Link{"PCIe 5", 50e9, 85e9},
                           Link{"NVLink-C2C", 350e9, 600e9}};
constexpr std::array compute_of{"v100-16g", "a100-40g", "h200"};

}  // namespace

ExperimentResult run_link(const ExperimentOptions& options) {
  std::vector<Workload> chosen;
  for (const Workload& workload : workloads(options.scale))
    if (options.full || options.scale == ExperimentScale::tiny || workload.model == "rnn" ||
        workload.model == "wresnet152-4" || workload.model == "inception_v4" ||
        workload.model == "bert-large")
      chosen.push_back(workload);
  const std::array planners{"belady", "joint"};
  std::vector<PlanJob> jobs;
  for (const Workload& workload : chosen)
    for (const char* compute : compute_of) {
      const SharedGraph graph = training_graph(workload, workload.batch_size, *find_compute_spec(compute));
      for (const Link& link : links)
        for (const char* planner : planners) {
          PlanJob job{graph, paper_device(options.scale), planner, 0, options.seed};
          job.device.h2d_bytes_per_second = job.device.d2h_bytes_per_second = link.bytes_per_second;
          job.device.duplex_bytes_per_second = link.duplex;
          job.evaluations = evaluations_for(*graph, planner, options);
          jobs.push_back(job);
        }
    }
  const std::vector<PlanOutcome> outcomes = run_jobs(jobs, options);
  ResultTable table{
      "link",
      {"workload", "compute", "link", "GB/s each way", "planner", "% of ideal", "upper bound, %"},
      {}};
  Figure figure{"link", "Efficiency in 15.2 GB against the link's speed", {}};
  std::size_t at = 0;
  for (const Workload& workload : chosen) {
    Chart chart{workload.name, "GB/s each way", "% of ideal", true, true, {}, {}};
    for (const char* compute : compute_of) {
      std::array<Series, 2> lines;
      for (std::size_t p = 0; p < planners.size(); ++p)
        lines[p] = {fmt::format("{}, {}", planners[p], compute), {}, {}, p == 0};
      for (const Link& link : links)
        for (std::size_t p = 0; p < planners.size(); ++p, ++at) {
          const PlanOutcome& o = outcomes[at];
          lines[p].points.push_back({link.bytes_per_second / 1e9, o.efficiency()});
          table.rows.push_back(
              {workload.name, compute, link.name, fmt::format("{:g}", link.bytes_per_second / 1e9),
               planners[p], percent_cell(o.efficiency()),
               o.planned() ? percent_cell(100 * o.predicted.ideal_seconds / o.predicted.bound_seconds)
                           : "-"});
        }
      for (Series& line : lines) chart.series.push_back(std::move(line));
    }
    figure.charts.push_back(chart);
  }
  return {{table},
          {figure},
          {"Simulated: op times from the cost model of each card, 15.2e9 bytes of memory and 10 us a copy "
           "everywhere, so that only the two speeds differ."}};
}

}  // namespace swapadvisor
