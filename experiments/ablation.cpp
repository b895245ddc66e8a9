// experiment ablation: what each decision is worth, taken in turn.
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/swap/simulate.h>

namespace swapadvisor {
namespace {

struct Step {
  std::string name;
  JointParts parts;
  bool duplex = true;  ///< the planner knows that both directions share the link
};

/// The given order in size classes, then one decision more at a time.
std::vector<Step> steps() {
  const JointParts none{false, false, false, false, false};
  JointParts order = none, offsets = none, both = none;
  order.order = true;
  offsets.offsets = true;
  both.order = both.offsets = true;
  JointParts clean = both, weighed = both, all;
  clean.clean_eviction = true;
  weighed.clean_eviction = weighed.eviction = true;
  return {{"given order, size classes", none, false},
          {"order only", order, false},
          {"placement only", offsets, false},
          {"order and placement", both, false},
          {"+ clean eviction", clean, false},
          {"+ weighed eviction", weighed, false},
          {"+ recompute", all, false},
          {"+ duplex awareness", all, true}};
}

}  // namespace

ExperimentResult run_ablation(const ExperimentOptions& options) {
  const std::vector<Workload> all = workloads(options.scale);
  const std::vector<Step> ladder = steps();
  const DeviceSpec device = paper_device(options.scale);
  std::vector<PlanJob> jobs;
  for (const Workload& workload : all) {
    const SharedGraph graph = training_graph(workload, workload.batch_size, paper_compute());
    for (const Step& step : ladder) {
      PlanJob job{graph, device, "joint", 0, options.seed, step.parts, true};
      if (!step.duplex) job.device.duplex_bytes_per_second = 0;
      job.evaluations = evaluations_for(*graph, job.planner, options, 2);
      jobs.push_back(job);
    }
  }
  std::vector<PlanOutcome> outcomes = run_jobs(jobs, options);
  ResultTable table{"ablation", {"decided by the planner"}, {}};
  Figure figure{"ablation", "What each decision of joint is worth", {}};
  for (const Workload& workload : all) table.columns.push_back(workload.name);
  for (const Step& step : ladder) table.rows.push_back({step.name});
  for (std::size_t w = 0; w < all.size(); ++w) {
    Chart chart{all[w].name, "", "% of ideal", false, true, {}, {}};
    for (std::size_t s = 0; s < ladder.size(); ++s) {
      PlanOutcome& outcome = outcomes[w * ladder.size() + s];
      double percent = outcome.efficiency();
      if (outcome.planned() && !ladder[s].duplex) {
        // Planned for a link without a cap, timed on the one that there is.
        outcome.program.device = device;
        percent = 100 * simulate(outcome.program).efficiency;
      }
      table.rows[s].push_back(percent_cell(percent));
      chart.series.push_back({ladder[s].name, {{0.0, percent}}});
      outcome.program = {};
    }
    chart.categories = {""};
    figure.charts.push_back(chart);
  }
  return {{table},
          {figure},
          {"Simulated on v100-16g, every plan with the same number of evaluations. All but the last were "
           "planned as if each direction had the link to itself, and timed on the link that there is."}};
}

}  // namespace swapadvisor
