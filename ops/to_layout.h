// Reordering of image tensors between row-major (NCHW) and channels-last (NHWC), and helpers for layouts.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// The layout that ops pass on: as the strides were written. With one channel or one pixel both layouts have
/// the same bytes, yet what follows shall keep the layout its builder chose, which `TensorSpec::layout`
/// cannot tell.
Layout stored_layout(const TensorSpec& spec);

/// Throws `Error` unless x is a floating-point tensor of rank 4, dense in either layout.
void check_image(const TensorSpec& x);

/// "to_layout": x of rank 4 and any element type → the same elements in another layout.
class ToLayoutOp final : public Op {
 public:
  explicit ToLayoutOp(Layout layout) : layout_(layout) {}
  std::string_view type() const override { return "to_layout"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  Layout layout_;
};

/// x itself when it is stored so already.
Tensor to_layout(Tensor x, Layout layout, std::string_view name = {});

}  // namespace swapadvisor
