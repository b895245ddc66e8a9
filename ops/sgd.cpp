#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/sgd.h>

namespace swapadvisor {

std::vector<TensorSpec> SgdOp::infer(std::span<const TensorSpec> inputs) const {
  const auto& [momentum, dampening, weight_decay, nesterov] = options_;
  if (!(momentum >= 0) || !(weight_decay >= 0))
    fail("momentum {} or weight decay {} is negative", momentum, weight_decay);
  if (nesterov && (momentum == 0 || dampening != 0)) fail("Nesterov needs a momentum and no dampening");
  const std::size_t expected = momentum == 0 ? 4 : 5;
  if (inputs.size() != expected)
    fail("momentum is {}, but there is {} momentum buffer", momentum, inputs.size() == 5 ? "a" : "no");
  require_floating(inputs[0], "parameter");
  require_dense(inputs[0], "parameter");
  require_same(inputs[0], "parameter", inputs[1], "gradient");
  require_scalar(inputs[2], DType::f64, "learning rate");
  require_scalar(inputs[3], DType::i32, "finite flag");
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
                Tensor finite, const SgdOptions& options, std::string_view name) {
  std::vector<Tensor> inputs{parameter, gradient, learning_rate, finite};
  if (momentum_buffer) inputs.push_back(momentum_buffer);
  parameter.graph().apply(std::make_shared<SgdOp>(options), std::move(inputs), name);
}

}  // namespace swapadvisor
