#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/lstm_cell.h>

namespace swapadvisor {
namespace {

/// Floating-point operations per element of a state: three logistic functions and two tanh of about 20 each,
/// and the arithmetic between them.
constexpr double forward_flops = 105, backward_flops = 125;

/// The spec of h and c of the cell with these gates.
TensorSpec state_of(const TensorSpec& gates) {
  require_floating(gates, "gates");
  if (gates.rank() != 2 || gates.shape[1] % 4 != 0 || !gates.is_row_major())
    fail("gates must be [N, 4H] in row-major order, got {}", to_string(gates));
  return TensorSpec::dense(gates.dtype, {gates.shape[0], gates.shape[1] / 4});
}

void require_state(const TensorSpec& spec, const TensorSpec& expected, std::string_view what) {
  if (spec.dtype != expected.dtype || spec.shape != expected.shape || !spec.is_row_major())
    fail("{} must be {} in row-major order, got {}", what, to_string(expected), to_string(spec));
}

}  // namespace

std::vector<TensorSpec> LstmCellOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec state = state_of(inputs[0]);
  if (inputs.size() > 1) require_state(inputs[1], state, "c");
  return {state, state};
}

Cost LstmCellOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {forward_flops * static_cast<double>(outputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> LstmCellOp::vjp(const VjpContext& context) const {
  const Tensor dh = context.output_gradients[0], dc = context.output_gradients[1];
  const bool has_c = context.inputs.size() > 1;
  std::vector<Tensor> operands(context.inputs.begin(), context.inputs.end());
  operands.push_back(context.outputs[1]);
  for (const Tensor& gradient : {dh, dc})
    if (gradient) operands.push_back(gradient);
  auto op = std::make_shared<LstmCellBackwardOp>(LstmBackwardOperands{has_c, bool(dh), bool(dc)});
  return context.outputs[0].graph().apply(std::move(op), std::move(operands), context.name);
}

std::vector<TensorSpec> LstmCellBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec state = state_of(inputs[0]);
  std::size_t next = 1;
  if (operands_.c) require_state(inputs[next++], state, "c");
  require_state(inputs[next++], state, "the new c");
  if (operands_.dh) require_state(inputs[next++], state, "dh");
  if (operands_.dc) require_state(inputs[next++], state, "the gradient of the new c");
  const TensorSpec dgates = TensorSpec::dense(inputs[0].dtype, inputs[0].shape);
  if (operands_.c) return {dgates, state};
  return {dgates};
}

Cost LstmCellBackwardOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {backward_flops * static_cast<double>(inputs[0].numel()) / 4, bytes_of(inputs, outputs)};
}

LstmState lstm_cell(Tensor gates, Tensor c, std::string_view name) {
  std::vector<Tensor> operands{gates};
  if (c) operands.push_back(c);
  const auto outputs = gates.graph().apply(std::make_shared<LstmCellOp>(), std::move(operands), name);
  return {outputs[0], outputs[1]};
}

}  // namespace swapadvisor
