// LAMB, as one graph op.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Numbers of LAMB; the defaults are those of its paper.
struct LambOptions {
  double beta1 = 0.9, beta2 = 0.999;  ///< decay rates of the two moments, in [0, 1)
  double epsilon = 1e-6;
  double weight_decay = 0;
  bool scaled_gradient = false;  ///< there is an input that multiplies the gradient
};

/// In place, t counted from 1 and g the gradient (times `scale` if there is one):
///   m = beta1·m + (1 − beta1)·g;   v = beta2·v + (1 − beta2)·g²
///   u = m / (1 − beta1^t) / (√(v / (1 − beta2^t)) + epsilon) + weight_decay·p
///   p −= lr · ‖p‖/‖u‖ · u,   the trust ratio ‖p‖/‖u‖ being 1 when either norm is 0
/// Norms are over the whole parameter, in double, the same bits for every thread count. Nothing changes when
/// `finite` is 0. Inputs (parameter, gradient, learning_rate, correction1, correction2, finite, m, v[,
/// scale]) → (parameter, m, v). Type "lamb". You et al., "Large Batch Optimization for Deep Learning:
/// Training BERT in 76 minutes", ICLR 2020, algorithm 2, with φ the identity.
class LambOp final : public Op {
 public:
  explicit LambOp(const LambOptions& options) : options_(options) {}
  const LambOptions& options() const { return options_; }

  std::string_view type() const override { return "lamb"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override;

 private:
  LambOptions options_;
};

/// What an update takes besides the parameter and its gradient.
struct LambOperands {
  Tensor exp_avg, exp_avg_sq;       ///< m and v: states that start at zeros
  Tensor learning_rate;             ///< f64 scalar
  Tensor correction1, correction2;  ///< f64 scalars: 1 − beta1^t and 1 − beta2^t
  Tensor finite;                    ///< i32 scalar (see finite_check.h)
  Tensor gradient_scale{};          ///< f64 scalar, or absent (see gradient_clip.h)
};

/// Appends `LambOp`.
void lamb_update(Tensor parameter, Tensor gradient, const LambOperands& operands, const LambOptions& options,
                 std::string_view name = {});

}  // namespace swapadvisor
