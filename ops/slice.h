// Views of a range of one dimension, and their gradient.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Elements [start, start + length) of one dimension of x (negative: counted from the end) as a view; x
/// itself when that is all of it.
Tensor slice(Tensor x, int dimension, std::int64_t start, std::int64_t length);

/// "slice_backward": gradients of slices along one dimension → the gradient of what they were cut from, 0
/// where no slice was. The slices come in order, do not overlap and may have any strides; all of a split
/// together make one op.
class SliceBackwardOp final : public Op {
 public:
  /// `like`: what was sliced; the result has its strides, or is row major when it has gaps. `starts`: of the
  /// slices.
  SliceBackwardOp(const TensorSpec& like, int dimension, std::vector<std::int64_t> starts);
  int dimension() const { return dimension_; }
  const std::vector<std::int64_t>& starts() const { return starts_; }
  std::string_view type() const override { return "slice_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  TensorSpec result_;
  int dimension_;
  std::vector<std::int64_t> starts_;
};

/// Appends `SliceBackwardOp`.
Tensor slice_backward(std::vector<Tensor> slices, const TensorSpec& like, int dimension,
                      std::vector<std::int64_t> starts, std::string_view name = {});

}  // namespace swapadvisor
