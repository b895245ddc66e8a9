#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/sgd.h>

namespace swapadvisor {

std::vector<TensorSpec> SgdOp::infer(std::span<const TensorSpec> inputs) const {
  const auto& [momentum, dampening, weight_decay, nesterov, scaled] = options_;
  if (!(momentum >= 0) || !(weight_decay >= 0))
    fail("momentum {} or weight decay {} is negative", momentum, weight_decay);
  if (nesterov && (momentum == 0 || dampening != 0)) fail("Nesterov needs a momentum and no dampening");
  const std::size_t given = inputs.size() - (scaled ? 1 : 0), expected = momentum == 0 ? 4 : 5;
  if (given != expected)
    fail("momentum is {}, but there is {} momentum buffer", momentum, given == 5 ? "a" : "no");
  require_floating(inputs[0], "parameter");
  require_dense(inputs[0], "parameter");
  require_same(inputs[0], "parameter", inputs[1], "gradient");
  require_scalar(inputs[2], DType::f64, "learning rate");
  require_scalar(inputs[3], DType::i32, "finite flag");
  if (scaled) require_scalar(inputs.back(), DType::f64, "gradient scale");
  if (expected == 4) return {inputs[0]};
  require_same(inputs[0], "parameter", inputs[4], "momentum buffer");
  return {inputs[0], inputs[4]};
}

Cost SgdOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  const double flops = (options_.momentum == 0 ? 2 : 4) + (options_.weight_decay == 0 ? 0 : 2);
  return {flops * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

Traits SgdOp::traits() const {
  Traits traits{.recomputable = false, .updates = {{0, 0}}};
  if (options_.momentum != 0) traits.updates.emplace_back(1, 4);
  return traits;
}

void sgd_update(Tensor parameter, Tensor gradient, Tensor momentum_buffer, Tensor learning_rate,
                Tensor finite, const SgdOptions& options, std::string_view name, Tensor gradient_scale) {
  std::vector<Tensor> inputs{parameter, gradient, learning_rate, finite};
  if (momentum_buffer) inputs.push_back(momentum_buffer);
  if (gradient_scale) inputs.push_back(gradient_scale);
  SgdOptions chosen = options;
  chosen.scaled_gradient = bool(gradient_scale);
  parameter.graph().apply(std::make_shared<SgdOp>(chosen), std::move(inputs), name);
}

}  // namespace swapadvisor
