// Matrix product.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// "matmul": op(a)·op(b) → [M, N], op(a) = a or aᵀ being [M, K] and op(b) = b or bᵀ being [K, N]. All row
/// major, f32 or f64.
class MatmulOp final : public Op {
 public:
  MatmulOp(bool transpose_a, bool transpose_b) : transpose_a_(transpose_a), transpose_b_(transpose_b) {}
  bool transpose_a() const { return transpose_a_; }
  bool transpose_b() const { return transpose_b_; }
  std::string_view type() const override { return "matmul"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  bool transpose_a_, transpose_b_;
};

/// Appends `MatmulOp`. A transposed view counts as the matrix it was made from; other views are copied.
Tensor matmul(Tensor a, Tensor b, bool transpose_a = false, bool transpose_b = false,
              std::string_view name = {});

}  // namespace swapadvisor
