#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/gradient_clip.h>

#include <cmath>

namespace swapadvisor {
namespace {

class SquareSumOp final : public Op {
 public:
  std::string_view type() const override { return "square_sum"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_floating(inputs[0], "x");
    require_dense(inputs[0], "x");
    return {TensorSpec::dense(DType::f64, {})};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {2 * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
};

}  // namespace

std::vector<TensorSpec> GradientClipOp::infer(std::span<const TensorSpec> inputs) const {
  if (!(max_norm_ > 0 && std::isfinite(max_norm_)))
    fail("the largest norm must be a finite number above 0, got {}", max_norm_);
  if (inputs.empty()) fail("there is no gradient to clip");
  for (const TensorSpec& sum : inputs) require_scalar(sum, DType::f64, "square sum");
  return {TensorSpec::dense(DType::f64, {}), TensorSpec::dense(DType::f64, {})};
}

Tensor square_sum(Tensor x, std::string_view name) {
  return x.graph().apply(std::make_shared<SquareSumOp>(), {x}, name)[0];
}

GradientClip gradient_clip(std::span<const Tensor> square_sums, double max_norm, std::string_view name) {
  SWAPADVISOR_ASSERT(!square_sums.empty(), "gradient_clip of no gradient");
  const std::vector<Tensor> outputs = square_sums[0].graph().apply(
      std::make_shared<GradientClipOp>(max_norm), {square_sums.begin(), square_sums.end()}, name);
  return {outputs[0], outputs[1]};
}

}  // namespace swapadvisor
