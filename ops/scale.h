// Multiplication by a constant.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// y = factor · x.
class ScaleOp final : public Op {
 public:
  explicit ScaleOp(double factor) : factor_(factor) {}
  double factor() const { return factor_; }

  std::string_view type() const override { return "scale"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  double factor_;
};

/// factor · x, of x's spec.
Tensor scale(Tensor x, double factor, std::string_view name = {});

}  // namespace swapadvisor
