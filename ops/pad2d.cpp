#include <swapadvisor/ops/pad2d.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {
namespace {

constexpr std::int64_t largest = 1 << 24;  // keeps sums of sizes far from overflow

std::int64_t padded_size(std::string_view what, std::int64_t size, std::int64_t before, std::int64_t after) {
  if (before < -largest || before > largest || after < -largest || after > largest)
    fail("padding must be between {} and {}, got {} and {}", -largest, largest, before, after);
  // An end that is cropped away entirely would leave zeros only, of the other end.
  if (size + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0) < 1)
    fail("a crop by {} and {} leaves nothing of a {} of {}", -before, -after, what, size);
  return before + size + after;
}

}  // namespace

std::vector<TensorSpec> Pad2dOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& x = inputs[0];
  check_image(x);
  const std::int64_t height = padded_size("height", x.shape[2], options_.top, options_.bottom);
  const std::int64_t width = padded_size("width", x.shape[3], options_.left, options_.right);
  return {TensorSpec::dense(x.dtype, {x.shape[0], x.shape[1], height, width}, stored_layout(x))};
}

std::vector<Tensor> Pad2dOp::vjp(const VjpContext& context) const {
  if (!context.wanted[0] || !context.output_gradients[0]) return {Tensor()};
  const Tensor dy = to_layout(context.output_gradients[0], stored_layout(context.outputs[0].spec()));
  const auto [top, bottom, left, right] = options_;
  return {pad2d(dy, {-top, -bottom, -left, -right}, context.name)};
}

Tensor pad2d(Tensor x, const Pad2dOptions& options, std::string_view name) {
  const auto [top, bottom, left, right] = options;
  if (top == 0 && bottom == 0 && left == 0 && right == 0) return x;
  return x.graph().apply(std::make_shared<Pad2dOp>(options), {x}, name)[0];
}

}  // namespace swapadvisor
