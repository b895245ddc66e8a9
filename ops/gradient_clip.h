// Clipping of all gradients by their common norm: one sum of squares per gradient, one factor for all.
#pragma once

#include <swapadvisor/core/graph.h>

#include <span>

namespace swapadvisor {

/// Σ x², an f64 scalar, summed in double in an order that depends on the number of elements only. x: f32 or
/// f64, dense. No gradient. Type "square_sum".
Tensor square_sum(Tensor x, std::string_view name = {});

/// What clipping comes to in one step, both f64 scalars.
struct GradientClip {
  Tensor scale;  ///< what every gradient is to be multiplied by, at most 1
  Tensor norm;   ///< of all gradients together, before clipping
};

/// (square sums…) → (scale, norm): norm = √Σ, scale = min(1, max_norm / (norm + 1e-6)), NaN when the norm is:
/// the semantics of PyTorch's clip_grad_norm_. Type "gradient_clip".
class GradientClipOp final : public Op {
 public:
  explicit GradientClipOp(double max_norm) : max_norm_(max_norm) {}
  double max_norm() const { return max_norm_; }

  std::string_view type() const override { return "gradient_clip"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;

 private:
  double max_norm_;
};

/// Appends `GradientClipOp` over the square sums of all gradients, added in the given order.
GradientClip gradient_clip(std::span<const Tensor> square_sums, double max_norm, std::string_view name = {});

}  // namespace swapadvisor
