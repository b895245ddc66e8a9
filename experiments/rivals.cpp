// experiment rivals: what other systems report, and what joint plans for the same memory.
#include <swapadvisor/experiments/plan_jobs.h>

namespace swapadvisor {
namespace {

struct Rival {
  std::string system, reported;
  Workload workload;
  double limit_share;  ///< of the memory that the step needs
  std::string device;
  DeviceSpec link;
  ComputeSpec compute;
};

std::vector<Rival> rivals(ExperimentScale scale) {
  // GeForce RTX 3090, vendor's data sheet: 35.6 TFLOPS float32, 936 GB/s; PCIe 4.0 x16.
  const DeviceSpec rtx{"rtx3090-24g", 24'000'000'000, DeviceSpec::unbounded, 24e9, 24e9, 40e9, 10e-6, 1};
  const ComputeSpec rtx_compute{35.6e12, 936e9};
  const DeviceSpec v100 = paper_device(scale);
  ModelOptions sequences;
  sequences.seq_len = 512;
  if (scale == ExperimentScale::tiny)
    return {{"MAGIS", "overhead <= 15 %", workloads(scale)[0], 0.4, rtx.name, rtx, rtx_compute}};
  return {{"MAGIS",
           "overhead <= 15 %",
           {"ResNet-50, batch 64", "resnet50", {}, 64},
           0.4,
           rtx.name,
           rtx,
           rtx_compute},
          {"MAGIS",
           "overhead <= 15 %",
           {"BERT-base, 32 x 512", "bert-base", sequences, 32},
           0.4,
           rtx.name,
           rtx,
           rtx_compute},
          {"nnabla",
           "55 % of full speed",
           {"ResNet-50, batch 64", "resnet50", {}, 64},
           1 / 7.5,
           v100.name,
           v100,
           paper_compute()}};
}

}  // namespace

ExperimentResult run_rivals(const ExperimentOptions& options) {
  const std::vector<Rival> all = rivals(options.scale);
  std::vector<PlanJob> jobs;
  for (const Rival& rival : all) {
    PlanJob job{training_graph(rival.workload, rival.workload.batch_size, rival.compute), rival.link, "joint",
                0, options.seed};
    job.device.memory_bytes =
        static_cast<std::int64_t>(rival.limit_share * static_cast<double>(device_bytes_needed(*job.graph)));
    job.evaluations = evaluations_for(*job.graph, job.planner, options, 20);
    jobs.push_back(job);
  }
  const std::vector<PlanOutcome> outcomes = run_jobs(jobs, options);
  ResultTable table{"rivals",
                    {"system", "workload", "memory, % of need", "it reports (measured)",
                     "joint, % of full speed (simulated)", "joint, overhead %", "at most, %",
                     "device simulated", "evaluations"},
                    {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PlanOutcome& o = outcomes[i];
    table.rows.push_back({all[i].system, all[i].workload.name,
                          fmt::format("{:.1f}", 100 * all[i].limit_share), all[i].reported,
                          percent_cell(o.efficiency()), percent_cell(1e4 / o.efficiency() - 100),
                          percent_cell(100 * o.predicted.ideal_seconds / o.predicted.bound_seconds),
                          all[i].device, fmt::format("{}", o.search.evaluations)});
  }
  return {{table},
          {},
          {"Theirs are measured on their hardware (MAGIS: RTX 3090 after a search of 3 minutes), ours are "
           "simulated for the device in the table: the two columns do not share a machine."}};
}

}  // namespace swapadvisor
