#include <swapadvisor/ops/broadcast.h>
#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/mul.h>

namespace swapadvisor {
namespace {

class MulOp final : public Op {
 public:
  std::string_view type() const override { return "mul"; }
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
    const Tensor dy = context.output_gradients[0];
    std::vector<Tensor> gradients(2);
    if (context.wanted[0]) gradients[0] = mul(dy, context.inputs[1], context.name + "/a");
    if (context.wanted[1]) gradients[1] = mul(dy, context.inputs[0], context.name + "/b");
    return gradients;
  }
};

}  // namespace

Tensor mul(Tensor a, Tensor b, std::string_view name) {
  if (are_broadcast(a.shape(), b.shape())) return broadcast(BroadcastKind::mul, a, b, name);
  align_strides(a, b);
  return a.graph().apply(std::make_shared<MulOp>(), {a, b}, name)[0];
}

}  // namespace swapadvisor
