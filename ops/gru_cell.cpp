#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/gru_cell.h>

namespace swapadvisor {
namespace {

/// Floating-point operations per element of a state: two logistic functions and a tanh of about 20 each, and
/// the arithmetic between them.
constexpr double forward_flops = 70, backward_flops = 85;

/// The spec of h of the cell with these gates.
TensorSpec state_of(const TensorSpec& x_gates, const TensorSpec& h_gates) {
  require_floating(x_gates, "x_gates");
  if (x_gates.rank() != 2 || x_gates.shape[1] % 3 != 0 || !x_gates.is_row_major())
    fail("x_gates must be [N, 3H] in row-major order, got {}", to_string(x_gates));
  require_same(x_gates, "x_gates", h_gates, "h_gates");
  return TensorSpec::dense(x_gates.dtype, {x_gates.shape[0], x_gates.shape[1] / 3});
}

void require_state(const TensorSpec& spec, const TensorSpec& expected, std::string_view what) {
  if (spec.dtype != expected.dtype || spec.shape != expected.shape || !spec.is_row_major())
    fail("{} must be {} in row-major order, got {}", what, to_string(expected), to_string(spec));
}

}  // namespace

std::vector<TensorSpec> GruCellOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec state = state_of(inputs[0], inputs[1]);
  if (inputs.size() > 2) require_state(inputs[2], state, "h");
  return {state};
}

Cost GruCellOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {forward_flops * static_cast<double>(outputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> GruCellOp::vjp(const VjpContext& context) const {
  const Tensor dh = context.output_gradients[0];
  std::vector<Tensor> operands(context.inputs.begin(), context.inputs.end());
  operands.push_back(dh);
  auto op = std::make_shared<GruCellBackwardOp>(context.inputs.size() > 2);
  return dh.graph().apply(std::move(op), std::move(operands), context.name);
}

std::vector<TensorSpec> GruCellBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec state = state_of(inputs[0], inputs[1]);
  if (has_h_) require_state(inputs[2], state, "h");
  require_state(inputs[has_h_ ? 3 : 2], state, "dh");
  const TensorSpec dgates = TensorSpec::dense(inputs[0].dtype, inputs[0].shape);
  if (has_h_) return {dgates, dgates, state};
  return {dgates, dgates};
}

Cost GruCellBackwardOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {backward_flops * static_cast<double>(inputs[0].numel()) / 3, bytes_of(inputs, outputs)};
}

Tensor gru_cell(Tensor x_gates, Tensor h_gates, Tensor h, std::string_view name) {
  std::vector<Tensor> operands{x_gates, h_gates};
  if (h) operands.push_back(h);
  return x_gates.graph().apply(std::make_shared<GruCellOp>(), std::move(operands), name)[0];
}

}  // namespace swapadvisor
