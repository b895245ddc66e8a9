// Training steps small enough for the stand-in, and plans for them that need no measuring.
#pragma once

#include <swapadvisor/core/executor.h>
#include <swapadvisor/models/registry.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/train/training_graph.h>

#include <memory>
#include <string>
#include <vector>

namespace swapadvisor::test {

struct SmallModel {
  std::string name;   ///< in messages
  std::string model;  ///< of the registry
  ModelOptions options;
  std::int64_t batch_size;
  std::string optimizer = "sgd";
};

/// mlp, resnet20, resnet18, LSTM, BERT, GPT.
std::vector<SmallModel> small_models();

/// The training step of one of them.
class SmallTraining {
 public:
  SmallTraining(const SmallModel& small, DType dtype, const KernelSet& kernels);

  const Graph& graph() const { return *graph_; }
  const PlanGraph& plan_graph() const { return plan_graph_; }
  const std::vector<std::unique_ptr<Kernel>>& kernels() const { return kernels_; }
  /// By a planner, with a limit in per cent of what is needed; 100: planner `none`.
  Program plan(const std::string& planner, int limit_percent) const;
  /// Data for every input of one iteration, by buffer; the same in every type.
  std::vector<std::vector<std::byte>> inputs(std::int64_t iteration) const;

 private:
  std::vector<std::byte> values(const ModelInput& input, bool target, std::int64_t iteration) const;

  Model model_;
  StepOptions step_;
  std::unique_ptr<Graph> graph_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  PlanGraph plan_graph_;
};

}  // namespace swapadvisor::test
