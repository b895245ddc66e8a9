#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/ema.h>

namespace swapadvisor {
namespace {

class EmaUpdateOp final : public Op {
 public:
  std::string_view type() const override { return "ema_update"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "average");
    require_dense(inputs[0], "average");
    require_same(inputs[0], "average", inputs[1], "x");
    require_scalar(inputs[2], DType::f64, "decay");
    require_scalar(inputs[3], DType::i32, "finite flag");
    return {inputs[0]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {3 * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.recomputable = false, .updates = {{0, 0}}}; }
};

}  // namespace

Tensor ema_update(Tensor average, Tensor x, Tensor decay, Tensor finite, std::string_view name) {
  return average.graph().apply(std::make_shared<EmaUpdateOp>(), {average, x, decay, finite}, name)[0];
}

}  // namespace swapadvisor
