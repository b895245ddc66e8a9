// Average pooling to a given size.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// "adaptive_avg_pool2d": x [N, C, H, W] → y [N, C, OH, OW] in the layout of x. Element i of y is the mean
/// over the rows from ⌊i·H/OH⌋ to ⌈(i + 1)·H/OH⌉ of x (without the last), and so for columns: windows overlap
/// where OH does not divide H, and repeat rows where x is smaller than y (PyTorch's rule).
class AdaptiveAvgPool2dOp final : public Op {
 public:
  explicit AdaptiveAvgPool2dOp(std::array<std::int64_t, 2> size) : size_(size) {}
  std::string_view type() const override { return "adaptive_avg_pool2d"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  std::array<std::int64_t, 2> size_;
};

/// "adaptive_avg_pool2d_backward": dy → dx. The spec of x is an attribute.
class AdaptiveAvgPool2dBackwardOp final : public Op {
 public:
  AdaptiveAvgPool2dBackwardOp(std::array<std::int64_t, 2> size, const TensorSpec& x) : size_(size), x_(x) {}
  std::string_view type() const override { return "adaptive_avg_pool2d_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;

 private:
  std::array<std::int64_t, 2> size_;
  TensorSpec x_;
};

/// Appends `AdaptiveAvgPool2dOp` to height and width `size`; x itself when it has that size.
Tensor adaptive_avg_pool2d(Tensor x, std::array<std::int64_t, 2> size, std::string_view name = {});

}  // namespace swapadvisor
