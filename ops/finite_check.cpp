#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/finite_check.h>

namespace swapadvisor {
namespace {

class FiniteCheckOp final : public Op {
 public:
  std::string_view type() const override { return "finite_check"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "loss");
    require_dense(inputs[0], "loss");
    require_scalar(inputs[1], DType::i32, "flag");
    return {inputs[1]};
  }
  Traits traits() const override { return {.recomputable = false, .updates = {{0, 1}}}; }
};

}  // namespace

Tensor finite_check(Tensor loss, Tensor flag, std::string_view name) {
  return loss.graph().apply(std::make_shared<FiniteCheckOp>(), {loss, flag}, name)[0];
}

}  // namespace swapadvisor
