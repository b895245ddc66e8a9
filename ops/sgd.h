// Stochastic gradient descent with momentum, as a graph op.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Numbers of stochastic gradient descent, as PyTorch names them.
struct SgdOptions {
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool scaled_gradient = false;  ///< there is an input that multiplies the gradient
};

/// In place, with PyTorch's formulas: g = scale·gradient + weight_decay·p; m = momentum·m + (1 −
/// dampening)·g; p −= lr · (g + momentum·m if nesterov, else m). Without momentum, p −= lr·g. Nothing changes
/// when `finite` is 0. Inputs (parameter, gradient, learning_rate, finite[, momentum_buffer][, scale]) →
/// (parameter[, momentum_buffer]).
class SgdOp final : public Op {
 public:
  explicit SgdOp(const SgdOptions& options) : options_(options) {}
  const SgdOptions& options() const { return options_; }

  std::string_view type() const override { return "sgd"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override;

 private:
  SgdOptions options_;
};

/// `momentum_buffer`: a state that starts at zeros, absent when the momentum is 0. `learning_rate`: f64
/// scalar; `finite`: i32 scalar (see finite_check.h); `gradient_scale`: f64 scalar, or absent (see
/// gradient_clip.h).
void sgd_update(Tensor parameter, Tensor gradient, Tensor momentum_buffer, Tensor learning_rate,
                Tensor finite, const SgdOptions& options, std::string_view name = {},
                Tensor gradient_scale = {});

}  // namespace swapadvisor
