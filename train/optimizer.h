// Optimizers by name: what a user sets, the update ops they become, and the inputs that change between steps.
#pragma once

#include <swapadvisor/core/graph.h>
#include <swapadvisor/train/inputs.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// An optimizer by name; each uses some of the numbers.
struct OptimizerOptions {
  std::string name = "sgd";              ///< sgd, adam, adamw or lamb
  double momentum = 0.9;                 ///< sgd
  bool nesterov = false;                 ///< sgd
  double beta1 = 0.9, beta2 = 0.999;     ///< adam, adamw, lamb
  std::optional<double> epsilon{};       ///< adam, adamw, lamb; absent: 1e-8, for lamb its paper's 1e-6
  std::optional<double> weight_decay{};  ///< absent: 0.01 for adamw (as PyTorch) and lamb, else 0
  double clip_norm = 0;                  ///< largest norm of all gradients together; 0: they are not clipped
  double ema_decay = 0;                  ///< of the moving average of the parameters; 0: there is none

  double divisor_epsilon() const { return epsilon.value_or(name == "lamb" ? 1e-6 : 1e-8); }
  double decay() const { return weight_decay.value_or(name == "adamw" || name == "lamb" ? 0.01 : 0.0); }
  /// The learning rate when none is given: 0.1 for sgd, else PyTorch's 0.001.
  double default_learning_rate() const { return name == "sgd" ? 0.1 : 0.001; }
};

/// Names that `OptimizerOptions::name` may have.
std::vector<std::string> optimizer_names();

/// Throws `Error` for an unknown optimizer or a number out of range.
void check(const OptimizerOptions& options);

/// Appends one optimizer's updates to a graph. States are "optimizer/momentum/NAME" (sgd),
/// "optimizer/exp_avg/NAME" and "optimizer/exp_avg_sq/NAME" (adam, adamw, lamb), and with an EMA
/// "optimizer/ema/NAME", all of the parameter's shape; they start at zeros. The first step copies the
/// parameters to their averages, so that these do not depend on the first values.
class Optimizer {
 public:
  /// Makes the `step.*` inputs. Throws `Error` as `check` does.
  Optimizer(Graph& graph, OptimizerOptions options);

  /// Updates `parameter`, and its average, in place unless `finite` is 0. `gradient_scale`: an f64 scalar
  /// that multiplies the gradient, or absent.
  void update(Tensor parameter, Tensor gradient, Tensor finite, Tensor gradient_scale = {});

 private:
  void sgd(Tensor parameter, Tensor gradient, Tensor finite, Tensor gradient_scale);
  void adam(Tensor parameter, Tensor gradient, Tensor finite, Tensor gradient_scale);
  void average(const std::string& name, Tensor finite);

  Graph& graph_;
  OptimizerOptions options_;
  Tensor learning_rate_, correction1_, correction2_, ema_decay_;
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
  double learning_rate_ = 0, correction1_ = 1, correction2_ = 1, ema_decay_ = 0;
};

}  // namespace swapadvisor
