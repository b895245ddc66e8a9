#include <swapadvisor/ops/broadcast.h>
#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/sub.h>

namespace swapadvisor {
namespace {

class SubOp final : public Op {
 public:
  std::string_view type() const override { return "sub"; }
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
    return {dy, context.wanted[1] ? scale(dy, -1, context.name + "/b") : Tensor()};
  }
};

}  // namespace

Tensor sub(Tensor a, Tensor b, std::string_view name) {
  if (are_broadcast(a.shape(), b.shape())) return broadcast(BroadcastKind::sub, a, b, name);
  align_strides(a, b);
  return a.graph().apply(std::make_shared<SubOp>(), {a, b}, name)[0];
}

}  // namespace swapadvisor
