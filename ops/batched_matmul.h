// Matrix products over leading batch dimensions.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Attributes of `batched_matmul`.
struct BatchedMatmulOptions {
  bool transpose_a = false, transpose_b = false;
  double alpha = 1;  ///< factor of the product
  /// The order in which the dimensions of the result lie in memory, outermost first; empty: row major. One of
  /// the last two must come last. Attention over [N, H, T, D] writes [0, 2, 1, 3], so that a permutation and
  /// a reshape to [N, T, H·D] are views.
  Shape order = {};
};

/// "batched_matmul": alpha · op(a)·op(b) → [batch…, M, N], op(a) being [batch…, M, K] and op(b) [batch…, K,
/// N]; op transposes the last two dimensions or does not. f32 or f64, equal batch dimensions. Operands may
/// have any strides as long as one of their last two dimensions is contiguous, so that heads are multiplied
/// where they lie. The gradients have the physical order of the operands.
class BatchedMatmulOp final : public Op {
 public:
  explicit BatchedMatmulOp(const BatchedMatmulOptions& options) : options_(options) {}
  const BatchedMatmulOptions& options() const { return options_; }
  std::string_view type() const override { return "batched_matmul"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  BatchedMatmulOptions options_;
};

/// Appends `BatchedMatmulOp`, and copies of operands in which neither of the last two dimensions is
/// contiguous. A matrix b is shared by all batches: the batches of a become rows of one `matmul`, and `order`
/// must be empty.
Tensor batched_matmul(Tensor a, Tensor b, const BatchedMatmulOptions& options = {},
                      std::string_view name = {});

}  // namespace swapadvisor
