#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/check.h>

namespace swapadvisor {

std::vector<TensorSpec> CastOp::infer(std::span<const TensorSpec> inputs) const {
  require_dense(inputs[0], "x");
  if (!is_floating(target_)) fail("cannot cast to {}: the target must be f32, f64 or bf16", name_of(target_));
  return {{target_, inputs[0].shape, inputs[0].strides}};
}

std::vector<Tensor> CastOp::vjp(const VjpContext& context) const {
  return {cast(context.output_gradients[0], context.inputs[0].dtype(), context.name)};
}

Tensor cast(Tensor x, DType target, std::string_view name) {
  if (x.dtype() == target) return x;
  return x.graph().apply(std::make_shared<CastOp>(target), {x}, name)[0];
}

}  // namespace swapadvisor
