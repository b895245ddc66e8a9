// Tensors side by side.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// "concat": x0, x1, … → the tensors one after the other along a dimension; the other dimensions are equal.
/// Operands may have any strides and any element type. The result is channels-last when all operands are,
/// else row major. The gradients are slices of dy.
class ConcatOp final : public Op {
 public:
  explicit ConcatOp(int dimension) : dimension_(dimension) {}
  int dimension() const { return dimension_; }
  std::string_view type() const override { return "concat"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  int dimension_;
};

/// Appends `ConcatOp`; a single tensor is returned as it is. `dimension`: negative ones count from the end.
Tensor concat(const std::vector<Tensor>& tensors, int dimension, std::string_view name = {});

}  // namespace swapadvisor
