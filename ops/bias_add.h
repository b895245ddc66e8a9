// Addition of one number per channel, and its gradient.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// "bias_add": (x, bias [C]) → y = x + bias, C being dimension 1 of x [N, C] or x [N, C, H, W] (either
/// layout). f32 or f64. y may take the address of x.
class BiasAddOp final : public Op {
 public:
  std::string_view type() const override { return "bias_add"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.recomputable = true, .inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override;
};

/// "bias_grad": dy → dbias [C], the sum over all but dimension 1.
class BiasGradOp final : public Op {
 public:
  std::string_view type() const override { return "bias_grad"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
};

/// Appends `BiasAddOp`.
Tensor bias_add(Tensor x, Tensor bias, std::string_view name = {});
/// Appends `BiasGradOp`.
Tensor bias_grad(Tensor dy, std::string_view name = {});

}  // namespace swapadvisor
