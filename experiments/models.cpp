// experiment models: what the workloads are, and how fast they train in 16 GB.
#include <swapadvisor/experiments/plan_jobs.h>

#include <set>

namespace swapadvisor {
namespace {

std::int64_t parameter_elements(const PlanGraph& graph) {
  std::int64_t bytes = 0;
  for (const PlanBuffer& buffer : graph.buffers)
    if (buffer.kind == BufferKind::parameter) bytes += buffer.bytes;
  return bytes / 4;
}

std::size_t distinct_sizes(const PlanGraph& graph) {
  std::set<std::int64_t> sizes;
  for (const PlanBuffer& buffer : graph.buffers) sizes.insert(buffer.bytes);
  return sizes.size();
}

}  // namespace

ExperimentResult run_models(const ExperimentOptions& options) {
  const std::vector<Workload> all = workloads(options.scale);
  std::vector<PlanJob> jobs;
  for (const Workload& workload : all) {
    PlanJob job;
    job.graph = training_graph(workload, workload.batch_size, paper_compute());
    job.device = paper_device(options.scale);
    job.planner = "joint";
    // The figure that the others lean on gets a longer search.
    job.evaluations = evaluations_for(*job.graph, job.planner, options, 40);
    job.seed = options.seed;
    jobs.push_back(job);
  }
  const std::vector<PlanOutcome> outcomes = run_jobs(jobs, options);
  ResultTable table{
      "models",
      {"workload", "parameters", "ops", "buffer sizes", "batch", "memory needed, GB", "times 16 GB",
       "iteration without limit, s", "joint, % of ideal", "at most, %", "expected, %", "evaluations"},
      {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PlanGraph& graph = *jobs[i].graph;
    const auto needed = static_cast<double>(device_bytes_needed(graph));
    const Prediction& p = outcomes[i].predicted;
    table.rows.push_back({all[i].name, fmt::format("{}", parameter_elements(graph)),
                          fmt::format("{}", graph.ops.size()), fmt::format("{}", distinct_sizes(graph)),
                          fmt::format("{}", all[i].batch_size), fmt::format("{:.1f}", needed / 1e9),
                          fmt::format("{:.2f}", needed / static_cast<double>(paper_memory_bytes)),
                          fmt::format("{:.2f}", total_seconds(graph)), percent_cell(outcomes[i].efficiency()),
                          percent_cell(100 * p.ideal_seconds / p.bound_seconds),
                          fmt::format("{:.0f}", 100 * all[i].bar),
                          fmt::format("{}", outcomes[i].search.evaluations)});
  }
  std::int64_t reached = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    reached += outcomes[i].efficiency() >= 100 * all[i].bar ? 1 : 0;
  Figure figure{"models", "Training in 16 GB: what joint reaches", {}};
  Chart chart{"",   "", "% of the speed without a limit",    false,
              true, {}, {{"joint", {}}, {"upper bound", {}}}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Prediction& p = outcomes[i].predicted;
    chart.categories.push_back(all[i].name);
    chart.series[0].points.push_back({static_cast<double>(i), outcomes[i].efficiency()});
    chart.series[1].points.push_back({static_cast<double>(i), 100 * p.ideal_seconds / p.bound_seconds});
  }
  figure.charts.push_back(chart);
  return {{table},
          {figure},
          {"Simulated: op times from the cost model of a V100, device v100-16g. The batch sizes are the "
           "smallest ones "
           "that need 4 x 16 GB for a training step with momentum SGD, fixed before anything was planned."},
          fmt::format("joint reaches what is expected on {} of {} workloads", reached, all.size())};
}

}  // namespace swapadvisor
