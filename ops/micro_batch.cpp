#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/micro_batch.h>

namespace swapadvisor {
namespace {

class ScaleByOp final : public Op {
 public:
  std::string_view type() const override { return "scale_by"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "x");
    require_dense(inputs[0], "x");
    require_scalar(inputs[1], DType::f64, "factor");
    return {inputs[0]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override {
    const Tensor dy = context.output_gradients[0];
    if (!dy || !context.wanted[0]) return {};
    return {scale_by(dy, context.inputs[1], context.name)};
  }
};

}  // namespace

std::vector<TensorSpec> CountShareOp::infer(std::span<const TensorSpec> inputs) const {
  if (index_ < 0 || index_ >= std::ssize(inputs))
    fail("there are {} counts, not number {}", inputs.size(), index_);
  for (const TensorSpec& count : inputs) require_scalar(count, DType::i64, "count");
  return {TensorSpec::dense(DType::f64, {})};
}

Tensor count_share(std::span<const Tensor> counts, int index, std::string_view name) {
  SWAPADVISOR_ASSERT(!counts.empty(), "a share of no counts");
  return counts[0].graph().apply(std::make_shared<CountShareOp>(index), {counts.begin(), counts.end()},
                                 name)[0];
}

Tensor scale_by(Tensor x, Tensor factor, std::string_view name) {
  return x.graph().apply(std::make_shared<ScaleByOp>(), {x, factor}, name)[0];
}

}  // namespace swapadvisor
