// 2-D convolution (cross-correlation) and its two gradients.
//
// x is [N, C, H, W] in row-major or channels-last layout, the weight is [O, C / groups, KH, KW] (OIHW) row
// major, y is [N, O, OH, OW] in the layout of x, with OH = (H + 2·padding − dilation·(KH − 1) − 1) / stride +
// 1 rounded down. f32 or f64; all operands have the same type.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Attributes of a convolution.
struct Conv2dOptions {
  std::array<std::int64_t, 2> stride{1, 1}, padding{0, 0}, dilation{1, 1};  ///< height, width
  std::int64_t groups = 1;
};

/// Sizes of one convolution, checked.
struct Conv2dGeometry {
  std::int64_t batch, in_channels, height, width;
  std::int64_t out_channels, out_height, out_width;
  std::int64_t kernel_height, kernel_width;
  Conv2dOptions options;

  std::int64_t group_in() const { return in_channels / options.groups; }
  std::int64_t group_out() const { return out_channels / options.groups; }
  std::int64_t taps() const { return kernel_height * kernel_width; }
  /// Inputs of one output element.
  std::int64_t patch() const { return taps() * group_in(); }
  /// Is y, seen as [N·OH·OW, O], the product of x, seen as [N·H·W, C], and the weight?
  bool pointwise() const;
  /// Multiply-adds count as two; the same for the forward and both backward ops.
  double flops() const;
};

/// Throws `Error` when the operands or options do not fit together.
Conv2dGeometry conv2d_geometry(const TensorSpec& x, const TensorSpec& weight, const Conv2dOptions& options);

/// "conv2d": (x, weight) → y.
class Conv2dOp final : public Op {
 public:
  explicit Conv2dOp(const Conv2dOptions& options) : options_(options) {}
  const Conv2dOptions& options() const { return options_; }
  std::string_view type() const override { return "conv2d"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  Conv2dOptions options_;
};

/// "conv2d_backward_data": (dy, weight) → dx. The spec of x is an attribute: with a stride, dy does not tell
/// it.
class Conv2dBackwardDataOp final : public Op {
 public:
  Conv2dBackwardDataOp(const Conv2dOptions& options, const TensorSpec& x) : options_(options), x_(x) {}
  const Conv2dOptions& options() const { return options_; }
  std::string_view type() const override { return "conv2d_backward_data"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;

 private:
  Conv2dOptions options_;
  TensorSpec x_;
};

/// "conv2d_backward_weight": (x, dy) → dweight.
class Conv2dBackwardWeightOp final : public Op {
 public:
  Conv2dBackwardWeightOp(const Conv2dOptions& options, const TensorSpec& weight)
      : options_(options), weight_(weight) {}
  const Conv2dOptions& options() const { return options_; }
  std::string_view type() const override { return "conv2d_backward_weight"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;

 private:
  Conv2dOptions options_;
  TensorSpec weight_;
};

/// Appends `Conv2dOp`: x [N, C, H, W] and weight [out, C / groups, kh, kw] → [N, out, H', W'].
Tensor conv2d(Tensor x, Tensor weight, const Conv2dOptions& options = {}, std::string_view name = {});
/// The gradient of the convolution's x, of spec `x`.
Tensor conv2d_backward_data(Tensor dy, Tensor weight, const TensorSpec& x, const Conv2dOptions& options,
                            std::string_view name = {});
/// The gradient of the convolution's weight, of spec `weight`.
Tensor conv2d_backward_weight(Tensor x, Tensor dy, const TensorSpec& weight, const Conv2dOptions& options,
                              std::string_view name = {});

}  // namespace swapadvisor
