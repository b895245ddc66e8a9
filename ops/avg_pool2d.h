// Average pooling and its gradient.
#pragma once

#include <swapadvisor/ops/pool2d.h>

namespace swapadvisor {

/// "avg_pool2d": x [N, C, H, W] → y [N, C, OH, OW] in the layout of x: the sum over the window divided by its
/// elements within x, or within x and its padding when `count_include_pad` (PyTorch's rule).
class AvgPool2dOp final : public Op {
 public:
  explicit AvgPool2dOp(const Pool2dOptions& options) : options_(options) {}
  const Pool2dOptions& options() const { return options_; }
  std::string_view type() const override { return "avg_pool2d"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  Pool2dOptions options_;
};

/// "avg_pool2d_backward": dy → dx. The spec of x is an attribute.
class AvgPool2dBackwardOp final : public Op {
 public:
  AvgPool2dBackwardOp(const Pool2dOptions& options, const TensorSpec& x) : options_(options), x_(x) {}
  const Pool2dOptions& options() const { return options_; }
  std::string_view type() const override { return "avg_pool2d_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;

 private:
  Pool2dOptions options_;
  TensorSpec x_;
};

/// Appends `AvgPool2dOp` on x [N, C, H, W].
Tensor avg_pool2d(Tensor x, const Pool2dOptions& options = {}, std::string_view name = {});

}  // namespace swapadvisor
