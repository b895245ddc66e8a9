#include <swapadvisor/ops/avg_pool2d.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {
namespace {

double window_flops(const TensorSpec& y, const Pool2dOptions& options) {
  return static_cast<double>(y.numel()) * static_cast<double>(options.kernel[0] * options.kernel[1]);
}

}  // namespace

std::vector<TensorSpec> AvgPool2dOp::infer(std::span<const TensorSpec> inputs) const {
  return {pool2d_output(inputs[0], options_, inputs[0].dtype)};
}

Cost AvgPool2dOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {window_flops(outputs[0], options_), bytes_of(inputs, outputs)};
}

std::vector<Tensor> AvgPool2dOp::vjp(const VjpContext& context) const {
  if (!context.wanted[0] || !context.output_gradients[0]) return {Tensor()};
  const Tensor x = context.inputs[0];
  const Tensor dy = to_layout(context.output_gradients[0], stored_layout(context.outputs[0].spec()));
  return x.graph().apply(std::make_shared<AvgPool2dBackwardOp>(options_, x.spec()), {dy}, context.name);
}

std::vector<TensorSpec> AvgPool2dBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  check_pool2d_operand("output gradient", inputs[0], pool2d_output(x_, options_, x_.dtype));
  return {x_};
}

Cost AvgPool2dBackwardOp::cost(std::span<const TensorSpec> inputs,
                               std::span<const TensorSpec> outputs) const {
  return {window_flops(inputs[0], options_), bytes_of(inputs, outputs)};
}

Tensor avg_pool2d(Tensor x, const Pool2dOptions& options, std::string_view name) {
  return x.graph().apply(std::make_shared<AvgPool2dOp>(options), {x}, name)[0];
}

}  // namespace swapadvisor
