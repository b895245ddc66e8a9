#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

namespace swapadvisor {
namespace {

void check_operands(const TensorSpec& logits, const TensorSpec& labels, double label_smoothing) {
  require_floating(logits, "logits");
  if (logits.rank() != 2 || !logits.is_row_major())
    fail("logits must be [rows, classes] in row-major order, got {}", to_string(logits));
  require_vector(labels, DType::i32, logits.shape[0], "labels");
  if (!(label_smoothing >= 0 && label_smoothing <= 1))
    fail("label smoothing must be in [0, 1], got {}", label_smoothing);
}

}  // namespace

std::vector<TensorSpec> SoftmaxCrossEntropyOp::infer(std::span<const TensorSpec> inputs) const {
  check_operands(inputs[0], inputs[1], label_smoothing_);
  return {TensorSpec::dense(inputs[0].dtype, {})};
}

Cost SoftmaxCrossEntropyOp::cost(std::span<const TensorSpec> inputs,
                                 std::span<const TensorSpec> outputs) const {
  // A maximum, a subtraction, an exponential (about 10 operations) and a sum per element.
  return {13.0 * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> SoftmaxCrossEntropyOp::vjp(const VjpContext& context) const {
  const Tensor dloss = context.output_gradients[0];
  auto op = std::make_shared<SoftmaxCrossEntropyBackwardOp>(label_smoothing_);
  return {dloss.graph().apply(std::move(op), {dloss, context.inputs[0], context.inputs[1]}, context.name)[0],
          {}};
}

std::vector<TensorSpec> SoftmaxCrossEntropyBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  check_operands(inputs[1], inputs[2], label_smoothing_);
  require_scalar(inputs[0], inputs[1].dtype, "dloss");
  return {inputs[1]};
}

Cost SoftmaxCrossEntropyBackwardOp::cost(std::span<const TensorSpec> inputs,
                                         std::span<const TensorSpec> outputs) const {
  return {26.0 * static_cast<double>(inputs[1].numel()), bytes_of(inputs, outputs)};
}

Tensor softmax_cross_entropy(Tensor logits, Tensor labels, double label_smoothing, std::string_view name) {
  auto op = std::make_shared<SoftmaxCrossEntropyOp>(label_smoothing);
  return logits.graph().apply(std::move(op), {logits, labels}, name)[0];
}

}  // namespace swapadvisor
