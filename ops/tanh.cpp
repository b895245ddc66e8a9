#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/tanh.h>

namespace swapadvisor {
namespace {

/// (dy, y) → dx = dy·(1 − y²).
class TanhBackwardOp final : public Op {
 public:
  std::string_view type() const override { return "tanh_backward"; }
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

class TanhOp final : public Op {
 public:
  std::string_view type() const override { return "tanh"; }
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
    return dy.graph().apply(std::make_shared<TanhBackwardOp>(), {dy, y}, context.name);
  }
};

}  // namespace

Tensor tanh(Tensor x, std::string_view name) {
  return x.graph().apply(std::make_shared<TanhOp>(), {x}, name)[0];
}

}  // namespace swapadvisor
