#include <swapadvisor/ops/bias_add.h>

namespace swapadvisor {
namespace {

void check_operand(std::string_view what, const TensorSpec& x) {
  if (!is_floating(x.dtype) || (x.rank() != 2 && x.rank() != 4))
    fail("{} must be f32 or f64 with 2 or 4 dimensions, got {}", what, to_string(x));
  if (!x.is_row_major() && !x.is_channels_last()) fail("{} must be dense, row major or channels last", what);
}

}  // namespace

std::vector<TensorSpec> BiasAddOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec &x = inputs[0], &bias = inputs[1];
  check_operand("x", x);
  if (bias.dtype != x.dtype || bias.rank() != 1 || bias.shape[0] != x.shape[1])
    fail("bias must be {}[{}], got {}", name_of(x.dtype), x.shape[1], to_string(bias));
  return {x};
}

Cost BiasAddOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> BiasAddOp::vjp(const VjpContext& context) const {
  const Tensor dy = context.output_gradients[0];
  std::vector<Tensor> gradients(2);
  if (!dy) return gradients;
  if (context.wanted[0]) gradients[0] = dy;
  if (context.wanted[1]) gradients[1] = bias_grad(dy, context.name + "/bias");
  return gradients;
}

std::vector<TensorSpec> BiasGradOp::infer(std::span<const TensorSpec> inputs) const {
  check_operand("dy", inputs[0]);
  return {TensorSpec::dense(inputs[0].dtype, {inputs[0].shape[1]})};
}

Cost BiasGradOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

Tensor bias_add(Tensor x, Tensor bias, std::string_view name) {
  return x.graph().apply(std::make_shared<BiasAddOp>(), {x, bias}, name)[0];
}

Tensor bias_grad(Tensor dy, std::string_view name) {
  return dy.graph().apply(std::make_shared<BiasGradOp>(), {dy}, name)[0];
}

}  // namespace swapadvisor
