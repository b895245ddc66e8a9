#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/own_gradient.h>

namespace swapadvisor {
namespace {

class OwnGradientBackwardOp final : public Op {
 public:
  explicit OwnGradientBackwardOp(const OwnGradientFunction& function) : function_(function) {}
  std::string_view type() const override { return function_.backward_type; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "dy");
    require_dense(inputs[0], "dy");
    require_same(inputs[0], "dy", inputs[1], "y");
    return {inputs[1]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {function_.backward_flops * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.inplace = true, .updates = {}}; }

 private:
  OwnGradientFunction function_;
};

class OwnGradientOp final : public Op {
 public:
  explicit OwnGradientOp(const OwnGradientFunction& function) : function_(function) {}
  std::string_view type() const override { return function_.type; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "x");
    require_dense(inputs[0], "x");
    return {inputs[0]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {function_.flops * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override {
    const Tensor dy = context.output_gradients[0], y = context.outputs[0];
    return dy.graph().apply(std::make_shared<OwnGradientBackwardOp>(function_), {dy, y}, context.name);
  }

 private:
  OwnGradientFunction function_;
};

}  // namespace

Tensor apply_function(const OwnGradientFunction& function, Tensor x, std::string_view name) {
  return x.graph().apply(std::make_shared<OwnGradientOp>(function), {x}, name)[0];
}

}  // namespace swapadvisor
