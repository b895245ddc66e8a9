// Zeros around the height and width of images, and crops.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Rows and columns of zeros to add; a negative number takes rows or columns away.
struct Pad2dOptions {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

/// "pad2d": x [N, C, H, W] → y [N, C, top + H + bottom, left + W + right] in the layout of x. Its gradient is
/// the opposite: padding takes away what a crop puts back as zeros.
class Pad2dOp final : public Op {
 public:
  explicit Pad2dOp(const Pad2dOptions& options) : options_(options) {}
  const Pad2dOptions& options() const { return options_; }
  std::string_view type() const override { return "pad2d"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  Pad2dOptions options_;
};

/// Appends `Pad2dOp`; x itself when there is nothing to add or to take away. Throws `Error` when nothing of x
/// is left.
Tensor pad2d(Tensor x, const Pad2dOptions& options, std::string_view name = {});

}  // namespace swapadvisor
