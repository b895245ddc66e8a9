#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/lamb.h>

#include <cmath>

namespace swapadvisor {

std::vector<TensorSpec> LambOp::infer(std::span<const TensorSpec> inputs) const {
  const auto& [beta1, beta2, epsilon, weight_decay, scaled] = options_;
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

Cost LambOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  // Two passes: moments and norms, then the step, which reads parameter and moments again.
  const auto n = static_cast<double>(inputs[0].numel());
  return {24 * n, bytes_of(inputs, outputs) + 3 * static_cast<double>(inputs[0].bytes())};
}

Traits LambOp::traits() const {
  return {.recomputable = false, .updates = {{0, 0}, {1, 6}, {2, 7}}};
}

void lamb_update(Tensor parameter, Tensor gradient, const LambOperands& o, const LambOptions& options,
                 std::string_view name) {
  std::vector<Tensor> inputs{parameter,     gradient, o.learning_rate, o.correction1,
                             o.correction2, o.finite, o.exp_avg,       o.exp_avg_sq};
  LambOptions chosen = options;
  chosen.scaled_gradient = bool(o.gradient_scale);
  if (o.gradient_scale) inputs.push_back(o.gradient_scale);
  parameter.graph().apply(std::make_shared<LambOp>(chosen), std::move(inputs), name);
}

}  // namespace swapadvisor
