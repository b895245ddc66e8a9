#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/softmax.h>

#include <cmath>

namespace swapadvisor {
namespace {

void check_scores(const TensorSpec& scores, std::string_view what, const SoftmaxOptions& options) {
  require_floating(scores, what);
  const int rank = scores.rank();
  if (rank < 1 || !scores.is_row_major())
    fail("{} must be [..., keys] in row-major order, got {}", what, to_string(scores));
  if (options.causal && (rank < 2 || scores.shape[rank - 2] > scores.shape[rank - 1]))
    fail("causal {} must be [..., queries, keys] with no more queries than keys, got {}", what,
         to_string(scores));
  if (!std::isfinite(options.scale)) fail("the scale must be finite, got {}", options.scale);
}

/// Causal rows see half of the keys.
double seen(const TensorSpec& scores, const SoftmaxOptions& options) {
  return (options.causal ? 0.5 : 1) * static_cast<double>(scores.numel());
}

}  // namespace

std::vector<TensorSpec> SoftmaxOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& scores = inputs[0];
  check_scores(scores, "scores", options_);
  if (inputs.size() > 1) {
    const TensorSpec& mask = inputs[1];
    const std::int64_t keys = scores.shape[scores.rank() - 1];
    const bool fits = mask.dtype == DType::i32 && scores.rank() >= 2 && mask.is_row_major() &&
                      mask.shape == Shape{scores.shape[0], keys};
    if (!fits)
      fail("the key mask must be i32 [samples, keys], fitting scores {}, got {}", to_string(scores),
           to_string(mask));
  }
  return {scores};
}

Cost SoftmaxOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  // A maximum, a product, a difference, an exponential of about 15 operations, a sum, a product.
  return {20 * seen(inputs[0], options_), bytes_of(inputs, outputs)};
}

std::vector<Tensor> SoftmaxOp::vjp(const VjpContext& context) const {
  const Tensor dy = context.output_gradients[0], y = context.outputs[0];
  std::vector<Tensor> gradients(context.inputs.size());
  gradients[0] = dy.graph().apply(std::make_shared<SoftmaxBackwardOp>(options_), {dy, y}, context.name)[0];
  return gradients;
}

std::vector<TensorSpec> SoftmaxBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  check_scores(inputs[1], "y", options_);
  require_same(inputs[0], "dy", inputs[1], "y");
  return {inputs[1]};
}

Cost SoftmaxBackwardOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {5 * seen(inputs[1], options_), bytes_of(inputs, outputs)};
}

Tensor softmax(Tensor scores, const SoftmaxOptions& options, Tensor key_mask, std::string_view name) {
  std::vector<Tensor> inputs{scores};
  if (key_mask) inputs.push_back(key_mask);
  return scores.graph().apply(std::make_shared<SoftmaxOp>(options), std::move(inputs), name)[0];
}

}  // namespace swapadvisor
