// The workloads of the paper's evaluation and ours beyond it, as graphs: no tensor memory is allocated for
// them.
#pragma once

#include <swapadvisor/core/program.h>
#include <swapadvisor/experiments/experiment.h>
#include <swapadvisor/models/registry.h>
#include <swapadvisor/swap/cost_model.h>

#include <memory>
#include <string>
#include <vector>

namespace swapadvisor {

/// A model at the batch size that its memory multiple was fixed at.
struct Workload {
  std::string name;  ///< as in the paper
  std::string model;
  ModelOptions options{};
  std::int64_t batch_size = 1;
  double bar = 0.95;  ///< the share of ideal that `joint` is expected to reach on `paper_device`
};

/// RNN-8-8K, BRNN-4-8K, WResNet-152-4 and -10, Inception-v4, NASNet-A 25, BERT-large, GPT-2 1.5B.
std::vector<Workload> workloads(ExperimentScale scale);

/// What memory multiples are counted in.
inline constexpr std::int64_t paper_memory_bytes = 16'000'000'000;

/// The paper's card, "v100-16g"; for tiny workloads one of the same speed that is too small for them.
DeviceSpec paper_device(ExperimentScale scale);
ComputeSpec paper_compute();

using SharedGraph = std::shared_ptr<const PlanGraph>;

/// A training step with momentum SGD.
SharedGraph training_graph(const Workload& workload, std::int64_t batch_size, const ComputeSpec& compute);
/// A forward pass alone.
SharedGraph inference_graph(const Workload& workload, std::int64_t batch_size, const ComputeSpec& compute);

}  // namespace swapadvisor
