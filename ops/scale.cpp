#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/scale.h>

#include <cmath>

namespace swapadvisor {

std::vector<TensorSpec> ScaleOp::infer(std::span<const TensorSpec> inputs) const {
  require_floating(inputs[0], "x");
  require_filled(inputs[0], "x");
  if (!std::isfinite(factor_)) fail("the factor must be finite, got {}", factor_);
  return {inputs[0]};
}

Cost ScaleOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> ScaleOp::vjp(const VjpContext& context) const {
  return {scale(context.output_gradients[0], factor_, context.name)};
}

Tensor scale(Tensor x, double factor, std::string_view name) {
  return x.graph().apply(std::make_shared<ScaleOp>(factor), {x}, name)[0];
}

}  // namespace swapadvisor
