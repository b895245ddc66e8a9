#include <swapadvisor/ops/max_pool2d.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {

std::vector<TensorSpec> MaxPool2dOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& x = inputs[0];
  const TensorSpec y = pool2d_output(x, options_, x.dtype), index = pool2d_output(x, options_, DType::u8);
  const auto [height, width] = options_.kernel;
  if (height * width > 256) fail("a window of {} × {} has more than 256 elements", height, width);
  return {y, index};
}

Cost MaxPool2dOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  const auto window = static_cast<double>(options_.kernel[0] * options_.kernel[1]);
  return {static_cast<double>(outputs[0].numel()) * window, bytes_of(inputs, outputs)};
}

std::vector<Tensor> MaxPool2dOp::vjp(const VjpContext& context) const {
  if (!context.wanted[0] || !context.output_gradients[0]) return {Tensor()};
  const Tensor x = context.inputs[0], index = context.outputs[1];
  const Tensor dy = to_layout(context.output_gradients[0], stored_layout(context.outputs[0].spec()));
  auto op = std::make_shared<MaxPool2dBackwardOp>(options_, x.spec());
  return x.graph().apply(std::move(op), {dy, index}, context.name);
}

std::vector<TensorSpec> MaxPool2dBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  check_pool2d_operand("output gradient", inputs[0], pool2d_output(x_, options_, x_.dtype));
  check_pool2d_operand("index", inputs[1], pool2d_output(x_, options_, DType::u8));
  return {x_};
}

Cost MaxPool2dBackwardOp::cost(std::span<const TensorSpec> inputs,
                               std::span<const TensorSpec> outputs) const {
  return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

Tensor max_pool2d(Tensor x, const Pool2dOptions& options, std::string_view name) {
  return x.graph().apply(std::make_shared<MaxPool2dOp>(options), {x}, name)[0];
}

}  // namespace swapadvisor
