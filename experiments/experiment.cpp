#include <swapadvisor/experiments/experiment.h>

namespace swapadvisor {

std::vector<Experiment> experiment_list() {
  return {{"models", "the workloads: parameters, ops, memory, and how fast they train in 16 GB", run_models},
          {"throughput", "training throughput against batch size, all planners", run_throughput},
          {"limit", "efficiency against the memory limit, with bounds", run_limit},
          {"ablation", "what order, placement, eviction and recompute are worth", run_ablation},
          {"search", "efficiency against search effort: genetic, annealing, random, greedy", run_search},
          {"inference", "latency of serving one model and several that share a device", run_inference},
          {"link", "efficiency against link speed and compute speed", run_link},
          {"prediction", "simulated against measured iteration time on this machine's CPU", run_prediction},
          {"rivals", "the memory limits that other systems report, planned here", run_rivals}};
}

}  // namespace swapadvisor
