#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/broadcast.h>
#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/contiguous.h>

namespace swapadvisor {
namespace {

class AddOp final : public Op {
 public:
  std::string_view type() const override { return "add"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "a");
    require_filled(inputs[0], "a");
    require_same(inputs[0], "a", inputs[1], "b");
    return {inputs[0]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override {
    return {context.output_gradients[0], context.output_gradients[0]};
  }
};

class AccumulateOp final : public Op {
 public:
  std::string_view type() const override { return "accumulate"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "sum");
    require_filled(inputs[0], "sum");
    require_same(inputs[0], "sum", inputs[1], "x");
    return {inputs[0]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.recomputable = false, .updates = {{0, 0}}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override {
    return {context.output_gradients[0], context.output_gradients[0]};
  }
};

}  // namespace

Tensor add(Tensor a, Tensor b, std::string_view name) {
  if (are_broadcast(a.shape(), b.shape())) return broadcast(BroadcastKind::add, a, b, name);
  align_strides(a, b);
  return a.graph().apply(std::make_shared<AddOp>(), {a, b}, name)[0];
}

Tensor accumulate(Tensor sum, Tensor x, std::string_view name) {
  return sum.graph().apply(std::make_shared<AccumulateOp>(), {sum, x}, name)[0];
}

}  // namespace swapadvisor
