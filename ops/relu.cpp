#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/relu.h>

namespace swapadvisor {
namespace {

/// dx = dy where y > 0, else 0.
class ReluBackwardOp final : public Op {
 public:
  std::string_view type() const override { return "relu_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "dy");
    require_dense(inputs[0], "dy");
    require_same(inputs[0], "dy", inputs[1], "y");
    return {inputs[1]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
};

class ReluOp final : public Op {
 public:
  std::string_view type() const override { return "relu"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "x");
    require_dense(inputs[0], "x");
    return {inputs[0]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override {
    const Tensor dy = context.output_gradients[0], y = context.outputs[0];
    return dy.graph().apply(std::make_shared<ReluBackwardOp>(), {dy, y}, context.name);
  }
};

}  // namespace

Tensor relu(Tensor x, std::string_view name) {
  return x.graph().apply(std::make_shared<ReluOp>(), {x}, name)[0];
}

}  // namespace swapadvisor
