// Optimizers by name: what a user sets, the update ops they become, and the inputs that change between steps.
#pragma once

#include <swapadvisor/core/graph.h>
#include <swapadvisor/train/inputs.h>

#include <cstdint>
#include <optional>
#include <string>

namespace swapadvisor {

/// An optimizer by name; each uses some of the numbers.
struct OptimizerOptions {
  std::string name = "sgd";              ///< sgd, adam or adamw
  double momentum = 0.9;                 ///< sgd
  bool nesterov = false;                 ///< sgd
  double beta1 = 0.9, beta2 = 0.999;     ///< adam, adamw
  double epsilon = 1e-8;                 ///< adam, adamw
  std::optional<double> weight_decay{};  ///< absent: PyTorch's, 0.01 for adamw and else 0

  double decay() const { return weight_decay.value_or(name == "adamw" ? 0.01 : 0.0); }
  /// The learning rate when none is given: 0.1 for sgd, else PyTorch's 0.001.
  double default_learning_rate() const { return name == "sgd" ? 0.1 : 0.001; }
};

/// Throws `Error` for an unknown optimizer or a number out of range.
void check(const OptimizerOptions& options);

/// Appends one optimizer's updates to a graph. States are "optimizer/momentum/NAME" (sgd),
/// "optimizer/exp_avg/NAME" and "optimizer/exp_avg_sq/NAME" (adam, adamw), all of the parameter's shape; they
/// start at zeros.
class Optimizer {
 public:
  /// Makes the `step.*` inputs. Throws `Error` as `check` does.
  Optimizer(Graph& graph, OptimizerOptions options);

  /// Updates `parameter` in place unless `finite` is 0.
  void update(Tensor parameter, Tensor gradient, Tensor finite);

 private:
  void sgd(Tensor parameter, Tensor gradient, Tensor finite);
  void adam(Tensor parameter, Tensor gradient, Tensor finite);

  Graph& graph_;
  OptimizerOptions options_;
  Tensor learning_rate_, correction1_, correction2_;
};

/// Values of the `step.*` inputs of one step.
class StepScalars {
 public:
  StepScalars() = default;
  /// `step` counts from 0; the bias corrections of Adam's first update are 1 − beta.
  StepScalars(const OptimizerOptions& options, std::int64_t step, double learning_rate);

  double learning_rate() const { return learning_rate_; }
  /// Adds those that `graph` has.
  void add_to(Inputs& inputs, const Graph& graph) const;

 private:
  std::int64_t number_ = 0;
  double learning_rate_ = 0, correction1_ = 1, correction2_ = 1;
};

}  // namespace swapadvisor
