#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/layer_norm.h>
#include <swapadvisor/ops/norm_types.h>

namespace swapadvisor {
namespace {

void check_x(const TensorSpec& x, std::string_view what) {
  require_floating(x, what);
  if (x.rank() < 1 || !x.is_row_major())
    fail("{} must be [..., features] in row-major order, got {}", what, to_string(x));
}

std::int64_t features_of(const TensorSpec& x) {
  return x.shape[x.rank() - 1];
}

/// Of the statistics: x without its last dimension, of the weight's type.
TensorSpec statistics_of(const TensorSpec& x, DType dtype) {
  return TensorSpec::dense(dtype,
                           Shape(std::span(x.shape.begin(), static_cast<std::size_t>(x.rank() - 1))));
}

double per_element(double flops, const TensorSpec& x) {
  return flops * static_cast<double>(x.numel());
}

class LayerNormBackwardOp final : public Op {
 public:
  std::string_view type() const override { return "layer_norm_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    const TensorSpec& x = inputs[1];
    check_x(x, "x");
    require_same(inputs[0], "dy", x, "x");
    const DType dtype = norm_parameter_type(x, inputs[2]);
    require_vector(inputs[2], dtype, features_of(x), "weight");
    require_same(inputs[3], "mean", statistics_of(x, dtype), "a statistic of x");
    require_same(inputs[4], "inverse deviation", statistics_of(x, dtype), "a statistic of x");
    return {x, inputs[2], inputs[2]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {per_element(14, inputs[1]), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
};

}  // namespace

std::vector<TensorSpec> LayerNormOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& x = inputs[0];
  check_x(x, "x");
  const DType dtype = norm_parameter_type(x, inputs[1]);
  require_vector(inputs[1], dtype, features_of(x), "weight");
  require_vector(inputs[2], dtype, features_of(x), "bias");
  if (!(epsilon_ >= 0)) fail("epsilon must not be negative, got {}", epsilon_);
  return {x, statistics_of(x, dtype), statistics_of(x, dtype)};
}

Cost LayerNormOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {per_element(8, inputs[0]), bytes_of(inputs, outputs)};
}

std::vector<Tensor> LayerNormOp::vjp(const VjpContext& context) const {
  if (context.output_gradients[1] || context.output_gradients[2])
    fail("[layer_norm {}] has no gradient through its statistics", context.name);
  const Tensor dy = context.output_gradients[0];
  return dy.graph().apply(std::make_shared<LayerNormBackwardOp>(),
                          {dy, context.inputs[0], context.inputs[1], context.outputs[1], context.outputs[2]},
                          context.name);
}

LayerNormOutput layer_norm(Tensor x, Tensor weight, Tensor bias, double epsilon, std::string_view name) {
  const auto outputs = x.graph().apply(std::make_shared<LayerNormOp>(epsilon), {x, weight, bias}, name);
  return {outputs[0], outputs[1], outputs[2]};
}

}  // namespace swapadvisor
