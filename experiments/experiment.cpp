#include <swapadvisor/experiments/experiment.h>

namespace swapadvisor {

std::vector<Experiment> experiment_list() {
  return {{"models",
           "the workloads: parameters, ops, memory, and how fast they train in 16 GB",
           run_models,
           {"models"}},
          {"throughput",
           "training throughput against batch size, all planners",
           run_throughput,
           {"throughput", "throughput_summary"}},
          {"limit", "efficiency against the memory limit, with bounds", run_limit, {"limit", "measured"}},
          {"ablation", "what order, placement, eviction and recompute are worth", run_ablation, {"ablation"}},
          {"search",
           "efficiency against search effort: genetic, annealing, random, greedy",
           run_search,
           {"search"}},
          {"inference",
           "latency of serving one model and several that share a device",
           run_inference,
           {"inference"}},
          {"link", "efficiency against link speed and compute speed", run_link, {"link"}},
          {"prediction",
           "simulated against measured iteration time on this machine's CPU",
           run_prediction,
           {"prediction", "prediction_summary"}},
          {"rivals", "the memory limits that other systems report, planned here", run_rivals, {"rivals"}}};
}

}  // namespace swapadvisor
