#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {

Layout stored_layout(const TensorSpec& spec) {
  if (!spec.is_channels_last()) return Layout::row_major;
  if (!spec.is_row_major()) return Layout::channels_last;
  const TensorSpec row_major = TensorSpec::dense(spec.dtype, spec.shape);
  return spec.strides == row_major.strides ? Layout::row_major : Layout::channels_last;
}

void check_image(const TensorSpec& x) {
  if (!is_floating(x.dtype)) fail("x must be f32 or f64, got {}", to_string(x));
  if (x.rank() != 4) fail("x must have 4 dimensions (N, C, H, W), got {}", to_string(x));
  if (!x.is_row_major() && !x.is_channels_last()) fail("x must be dense, row major or channels last");
}

std::vector<TensorSpec> ToLayoutOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& x = inputs[0];
  if (x.rank() != 4) fail("x must have 4 dimensions (N, C, H, W), got {}", to_string(x));
  if (!x.is_row_major() && !x.is_channels_last()) fail("x must be dense, row major or channels last");
  return {TensorSpec::dense(x.dtype, x.shape, layout_)};
}

std::vector<Tensor> ToLayoutOp::vjp(const VjpContext& context) const {
  const Tensor dy = context.output_gradients[0];
  if (!context.wanted[0] || !dy) return {Tensor()};
  return {to_layout(dy, stored_layout(context.inputs[0].spec()), context.name)};
}

Tensor to_layout(Tensor x, Layout layout, std::string_view name) {
  const TensorSpec& spec = x.spec();
  const bool row_major = layout == Layout::row_major && spec.is_row_major();
  if (row_major || (layout == Layout::channels_last && stored_layout(spec) == layout)) return x;
  return x.graph().apply(std::make_shared<ToLayoutOp>(layout), {x}, name)[0];
}

}  // namespace swapadvisor
