// Adam and AdamW, as one graph op.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Where weight decay goes.
enum class AdamDecay : std::uint8_t {
  gradient,   ///< weight_decay·p joins the gradient (Adam)
  decoupled,  ///< p shrinks by lr·weight_decay before the step (AdamW)
};

/// Numbers of Adam and AdamW; the defaults are PyTorch's.
struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999;  ///< decay rates of the two moments, in [0, 1)
  double epsilon = 1e-8;
  double weight_decay = 0;
  AdamDecay decay = AdamDecay::gradient;
  bool scaled_gradient = false;  ///< there is an input that multiplies the gradient
};

/// In place, with PyTorch's formulas, t counted from 1 and g the gradient (times `scale` if there is one):
///   gradient:  g += weight_decay·p;   decoupled:  p −= lr·weight_decay·p
///   m = beta1·m + (1 − beta1)·g;   v = beta2·v + (1 − beta2)·g²
///   p −= lr / (1 − beta1^t) · m / (√(v / (1 − beta2^t)) + epsilon)
/// Nothing changes when `finite` is 0. Inputs (parameter, gradient, learning_rate, correction1, correction2,
/// finite, m, v[, scale]) → (parameter, m, v). Adam: Kingma and Ba, ICLR 2015, algorithm 1; AdamW: Loshchilov
/// and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
class AdamOp final : public Op {
 public:
  explicit AdamOp(const AdamOptions& options) : options_(options) {}
  const AdamOptions& options() const { return options_; }

  std::string_view type() const override { return "adam"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override;

 private:
  AdamOptions options_;
};

/// What an update takes besides the parameter and its gradient.
struct AdamOperands {
  Tensor exp_avg, exp_avg_sq;       ///< m and v: states that start at zeros
  Tensor learning_rate;             ///< f64 scalar
  Tensor correction1, correction2;  ///< f64 scalars: 1 − beta1^t and 1 − beta2^t
  Tensor finite;                    ///< i32 scalar (see finite_check.h)
  Tensor gradient_scale{};          ///< f64 scalar, or absent (see gradient_clip.h)
};

/// Appends `AdamOp`.
void adam_update(Tensor parameter, Tensor gradient, const AdamOperands& operands, const AdamOptions& options,
                 std::string_view name = {});

}  // namespace swapadvisor
