// Copies that bring the elements of a view into dense memory.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// The dimensions of `spec` from the one with the largest stride to the one with the smallest: [0, 1, 2, …]
/// for row major tensors, [0, 2, 3, 1] for channels-last ones.
Shape physical_order(const TensorSpec& spec);

/// A dense tensor whose dimensions lie in memory in the given order, outermost first.
TensorSpec dense_in_order(DType dtype, const Shape& shape, const Shape& order);

/// True when the elements fill their memory without gaps, in whatever order of dimensions.
bool is_dense(const TensorSpec& spec);

/// "contiguous": x of any strides → the same elements, dense in the given physical order. Any element type.
class ContiguousOp final : public Op {
 public:
  explicit ContiguousOp(const Shape& order) : order_(order) {}
  std::string_view type() const override { return "contiguous"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  Shape order_;
};

/// x in row-major memory: x itself where it is so already, else a copy.
Tensor contiguous(Tensor x, std::string_view name = {});
/// x itself where it is dense, row major or channels-last, as most ops want it; else a row-major copy.
Tensor contiguous_unless_dense(Tensor x, std::string_view name = {});
/// x with the strides of `like`, of the same shape: x itself or a copy. Where `like` has gaps, row major.
Tensor contiguous_like(Tensor x, const TensorSpec& like, std::string_view name = {});
/// Gives operands of one shape the same dense strides: a view in other strides than rows or channels-last is
/// replaced by a copy like the other operand. Two different layouts, row major and channels-last, stay as
/// they are.
void align_strides(Tensor& a, Tensor& b);
/// A copy in the strides of x, or in row-major memory when x has gaps: a buffer of its own for a view.
Tensor copy(Tensor x, std::string_view name = {});

}  // namespace swapadvisor
