#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/saturating.h>

namespace swapadvisor {
namespace {

class SaturatingBackwardOp final : public Op {
 public:
  explicit SaturatingBackwardOp(const SaturatingTypes& types) : types_(types) {}
  std::string_view type() const override { return types_.backward; }
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

 private:
  SaturatingTypes types_;
};

class SaturatingOp final : public Op {
 public:
  explicit SaturatingOp(const SaturatingTypes& types) : types_(types) {}
  std::string_view type() const override { return types_.forward; }
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
    return dy.graph().apply(std::make_shared<SaturatingBackwardOp>(types_), {dy, y}, context.name);
  }

 private:
  SaturatingTypes types_;
};

}  // namespace

Tensor saturating(const SaturatingTypes& types, Tensor x, std::string_view name) {
  return x.graph().apply(std::make_shared<SaturatingOp>(types), {x}, name)[0];
}

}  // namespace swapadvisor
