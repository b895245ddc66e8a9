#include <swapadvisor/ops/adam.h>
#include <swapadvisor/ops/check.h>

#include <cmath>

namespace swapadvisor {

std::vector<TensorSpec> AdamOp::infer(std::span<const TensorSpec> inputs) const {
  const auto& [beta1, beta2, epsilon, weight_decay, decay, scaled] = options_;
  for (double beta : {beta1, beta2})
    if (!(beta >= 0 && beta < 1)) fail("the betas are {} and {}, expected in [0, 1)", beta1, beta2);
  if (!(epsilon >= 0 && std::isfinite(epsilon))) fail("epsilon {} is negative or not finite", epsilon);
  if (!(weight_decay >= 0 && std::isfinite(weight_decay)))
    fail("weight decay {} is negative or not finite", weight_decay);
  require_floating(inputs[0], "parameter");
  require_dense(inputs[0], "parameter");
  require_same(inputs[0], "parameter", inputs[1], "gradient");
  require_scalar(inputs[2], DType::f64, "learning rate");
  require_scalar(inputs[3], DType::f64, "bias correction 1");
  require_scalar(inputs[4], DType::f64, "bias correction 2");
  require_scalar(inputs[5], DType::i32, "finite flag");
  require_same(inputs[0], "parameter", inputs[6], "first moment");
  require_same(inputs[0], "parameter", inputs[7], "second moment");
  if (scaled) require_scalar(inputs[8], DType::f64, "gradient scale");
  return {inputs[0], inputs[6], inputs[7]};
}

Cost AdamOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  const double flops = 12 + (options_.weight_decay == 0 ? 0 : 2);
  return {flops * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

Traits AdamOp::traits() const {
  return {.recomputable = false, .updates = {{0, 0}, {1, 6}, {2, 7}}};
}

void adam_update(Tensor parameter, Tensor gradient, const AdamOperands& operands, const AdamOptions& options,
                 std::string_view name) {
  const auto& [exp_avg, exp_avg_sq, learning_rate, correction1, correction2, finite, scale] = operands;
  std::vector<Tensor> inputs{parameter,   gradient, learning_rate, correction1,
                             correction2, finite,   exp_avg,       exp_avg_sq};
  if (scale) inputs.push_back(scale);
  AdamOptions chosen = options;
  chosen.scaled_gradient = bool(scale);
  parameter.graph().apply(std::make_shared<AdamOp>(chosen), std::move(inputs), name);
}

}  // namespace swapadvisor
