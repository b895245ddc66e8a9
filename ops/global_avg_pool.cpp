#include <swapadvisor/ops/global_avg_pool.h>
#include <swapadvisor/ops/pool2d.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {
namespace {

TensorSpec mean_spec(const TensorSpec& x) {
  check_image(x);
  return TensorSpec::dense(x.dtype, {x.shape[0], x.shape[1], 1, 1}, stored_layout(x));
}

}  // namespace

std::vector<TensorSpec> GlobalAvgPoolOp::infer(std::span<const TensorSpec> inputs) const {
  return {mean_spec(inputs[0])};
}

Cost GlobalAvgPoolOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> GlobalAvgPoolOp::vjp(const VjpContext& context) const {
  const Tensor dy = context.output_gradients[0];
  if (!context.wanted[0] || !dy) return {Tensor()};
  return dy.graph().apply(std::make_shared<GlobalAvgPoolBackwardOp>(context.inputs[0].spec()), {dy},
                          context.name);
}

std::vector<TensorSpec> GlobalAvgPoolBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  check_pool2d_operand("output gradient", inputs[0], mean_spec(x_));
  return {x_};
}

Cost GlobalAvgPoolBackwardOp::cost(std::span<const TensorSpec> inputs,
                                   std::span<const TensorSpec> outputs) const {
  return {static_cast<double>(outputs[0].numel()), bytes_of(inputs, outputs)};
}

Tensor global_avg_pool(Tensor x, std::string_view name) {
  return x.graph().apply(std::make_shared<GlobalAvgPoolOp>(), {x}, name)[0];
}

}  // namespace swapadvisor
