#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/gelu.h>

namespace swapadvisor {

std::vector<TensorSpec> GeluOp::infer(std::span<const TensorSpec> inputs) const {
  require_floating(inputs[0], "x");
  require_dense(inputs[0], "x");
  return {inputs[0]};
}

Cost GeluOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  // An exponential of about 15 operations, a division, polynomials.
  return {40.0 * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> GeluOp::vjp(const VjpContext& context) const {
  const Tensor dy = context.output_gradients[0], x = context.inputs[0];
  return dy.graph().apply(std::make_shared<GeluBackwardOp>(form_), {dy, x}, context.name);
}

std::vector<TensorSpec> GeluBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  require_floating(inputs[0], "dy");
  require_dense(inputs[0], "dy");
  require_same(inputs[0], "dy", inputs[1], "x");
  return {inputs[1]};
}

Cost GeluBackwardOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {45.0 * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

Tensor gelu(Tensor x, GeluForm form, std::string_view name) {
  return x.graph().apply(std::make_shared<GeluOp>(form), {x}, name)[0];
}

}  // namespace swapadvisor
