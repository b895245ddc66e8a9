#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/sigmoid.h>

namespace swapadvisor {
namespace {

/// (dy, y) → dx = dy·y·(1 − y).
class SigmoidBackwardOp final : public Op {
 public:
  std::string_view type() const override { return "sigmoid_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "dy");
    require_dense(inputs[0], "dy");
    require_same(inputs[0], "dy", inputs[1], "y");
    return {inputs[1]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {3.0 * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
};

class SigmoidOp final : public Op {
 public:
  std::string_view type() const override { return "sigmoid"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "x");
    require_dense(inputs[0], "x");
    return {inputs[0]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    // An exponential of about 15 operations, a division.
    return {20.0 * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override {
    const Tensor dy = context.output_gradients[0], y = context.outputs[0];
    return dy.graph().apply(std::make_shared<SigmoidBackwardOp>(), {dy, y}, context.name);
  }
};

}  // namespace

Tensor sigmoid(Tensor x, std::string_view name) {
  return x.graph().apply(std::make_shared<SigmoidOp>(), {x}, name)[0];
}

}  // namespace swapadvisor
