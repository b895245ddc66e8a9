// Layer normalisation (Ba, Kiros and Hinton 2016) over the last dimension.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// What layer normalisation computes.
struct LayerNormOutput {
  Tensor y;                  ///< of x's spec
  Tensor mean;               ///< x's shape without its last dimension, of the weight's type
  Tensor inverse_deviation;  ///< the same; 1/√(variance + ε) with the biased variance
};

/// (x, weight, bias) → (y, mean, inverse_deviation); y = (x − mean)·inverse_deviation·weight + bias, the
/// statistics taken over the last dimension. Pure. Only y has a gradient.
class LayerNormOp final : public Op {
 public:
  explicit LayerNormOp(double epsilon) : epsilon_(epsilon) {}
  double epsilon() const { return epsilon_; }

  std::string_view type() const override { return "layer_norm"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  double epsilon_;
};

/// x: floating, row major, rank 1 or more; weight, bias: [D], D being x's last dimension, of x's type, or f32
/// where x is bf16. The statistics and the gradients of weight and bias have the weight's type. The backward
/// op is "layer_norm_backward" (dy, x, weight, mean, inverse_deviation) → (dx, dweight, dbias).
LayerNormOutput layer_norm(Tensor x, Tensor weight, Tensor bias, double epsilon = 1e-5,
                           std::string_view name = {});

}  // namespace swapadvisor
