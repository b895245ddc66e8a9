// Max pooling and its gradient.
#pragma once

#include <swapadvisor/ops/pool2d.h>

namespace swapadvisor {

/// "max_pool2d": x [N, C, H, W] → (y, index u8), both [N, C, OH, OW] in the layout of x. The index counts row
/// by row within the window, padding included, and names the first maximum; a NaN counts as the maximum, as
/// in PyTorch. Windows have at most 256 elements.
class MaxPool2dOp final : public Op {
 public:
  explicit MaxPool2dOp(const Pool2dOptions& options) : options_(options) {}
  const Pool2dOptions& options() const { return options_; }
  std::string_view type() const override { return "max_pool2d"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  Pool2dOptions options_;
};

/// "max_pool2d_backward": (dy, index) → dx. The spec of x is an attribute.
class MaxPool2dBackwardOp final : public Op {
 public:
  MaxPool2dBackwardOp(const Pool2dOptions& options, const TensorSpec& x) : options_(options), x_(x) {}
  const Pool2dOptions& options() const { return options_; }
  std::string_view type() const override { return "max_pool2d_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;

 private:
  Pool2dOptions options_;
  TensorSpec x_;
};

/// Returns y; the index stays inside the graph.
Tensor max_pool2d(Tensor x, const Pool2dOptions& options = {}, std::string_view name = {});

}  // namespace swapadvisor
