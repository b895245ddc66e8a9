#include <swapadvisor/ops/adaptive_avg_pool2d.h>
#include <swapadvisor/ops/pool2d.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {
namespace {

TensorSpec output_spec(const TensorSpec& x, std::array<std::int64_t, 2> size) {
  constexpr std::int64_t largest = 1 << 24;
  check_image(x);
  for (std::int64_t s : size)
    if (s < 1 || s > largest)
      fail("the output size must be between 1 and {}, got {} × {}", largest, size[0], size[1]);
  return TensorSpec::dense(x.dtype, {x.shape[0], x.shape[1], size[0], size[1]}, stored_layout(x));
}

/// Every element of x is in at least one window, of y in one: about as many terms as the larger has elements.
double terms(const TensorSpec& x, const TensorSpec& y) {
  return static_cast<double>(x.numel()) + static_cast<double>(y.numel());
}

}  // namespace

std::vector<TensorSpec> AdaptiveAvgPool2dOp::infer(std::span<const TensorSpec> inputs) const {
  return {output_spec(inputs[0], size_)};
}

Cost AdaptiveAvgPool2dOp::cost(std::span<const TensorSpec> inputs,
                               std::span<const TensorSpec> outputs) const {
  return {terms(inputs[0], outputs[0]), bytes_of(inputs, outputs)};
}

std::vector<Tensor> AdaptiveAvgPool2dOp::vjp(const VjpContext& context) const {
  if (!context.wanted[0] || !context.output_gradients[0]) return {Tensor()};
  const Tensor x = context.inputs[0];
  const Tensor dy = to_layout(context.output_gradients[0], stored_layout(context.outputs[0].spec()));
  return x.graph().apply(std::make_shared<AdaptiveAvgPool2dBackwardOp>(size_, x.spec()), {dy}, context.name);
}

std::vector<TensorSpec> AdaptiveAvgPool2dBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  check_pool2d_operand("output gradient", inputs[0], output_spec(x_, size_));
  return {x_};
}

Cost AdaptiveAvgPool2dBackwardOp::cost(std::span<const TensorSpec> inputs,
                                       std::span<const TensorSpec> outputs) const {
  return {terms(inputs[0], outputs[0]), bytes_of(inputs, outputs)};
}

Tensor adaptive_avg_pool2d(Tensor x, std::array<std::int64_t, 2> size, std::string_view name) {
  const Shape& shape = x.shape();
  if (shape.rank() == 4 && shape[2] == size[0] && shape[3] == size[1]) return x;
  return x.graph().apply(std::make_shared<AdaptiveAvgPool2dOp>(size), {x}, name)[0];
}

}  // namespace swapadvisor
