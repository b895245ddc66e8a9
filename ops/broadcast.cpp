#include <swapadvisor/ops/broadcast.h>
#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/mul.h>
#include <swapadvisor/ops/reduce.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/to_layout.h>

#include <algorithm>

namespace swapadvisor {
namespace {

/// Extent of dimension i, counted from the last, where there may be none.
std::int64_t extent_from_end(const Shape& shape, int i) {
  return i < shape.rank() ? shape[shape.rank() - 1 - i] : 1;
}

}  // namespace

std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  Shape shape = a.rank() >= b.rank() ? a : b;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t x = extent_from_end(a, i), y = extent_from_end(b, i);
    if (x != y && x != 1 && y != 1) return std::nullopt;
    shape[shape.rank() - 1 - i] = std::max(x, y);
  }
  return shape;
}

bool are_broadcast(const Shape& a, const Shape& b) {
  return a != b && broadcast_shape(a, b);
}

Shape broadcast_strides(const TensorSpec& spec, const Shape& shape) {
  Shape strides = shape;
  for (int i = 0; i < shape.rank(); ++i)
    strides[shape.rank() - 1 - i] =
        extent_from_end(spec.shape, i) == 1 ? 0 : spec.strides[spec.rank() - 1 - i];
  return strides;
}

std::string_view BroadcastOp::type() const {
  switch (kind_) {
    case BroadcastKind::add:
      return "broadcast_add";
    case BroadcastKind::sub:
      return "broadcast_sub";
    case BroadcastKind::mul:
      return "broadcast_mul";
  }
  return "";
}

std::vector<TensorSpec> BroadcastOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec &a = inputs[0], &b = inputs[1];
  require_floating(a, "a");
  const std::optional<Shape> shape = broadcast_shape(a.shape, b.shape);
  if (!shape || a.dtype != b.dtype)
    fail("a is {} but b is {}; they cannot be broadcast", to_string(a), to_string(b));
  const auto is_channels_last = [&](const TensorSpec& x) {
    return x.shape == *shape && x.is_channels_last() && stored_layout(x) == Layout::channels_last;
  };
  const bool last = is_channels_last(a) || is_channels_last(b);
  return {TensorSpec::dense(a.dtype, *shape, last ? Layout::channels_last : Layout::row_major)};
}

Cost BroadcastOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {static_cast<double>(outputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> BroadcastOp::vjp(const VjpContext& context) const {
  const Tensor a = context.inputs[0], b = context.inputs[1], dy = context.output_gradients[0];
  const std::string name_a = context.name + "/a", name_b = context.name + "/b";
  const auto factor = [&](Tensor other, const std::string& name) {
    return kind_ == BroadcastKind::mul ? mul(dy, other, name + "/product") : dy;
  };
  std::vector<Tensor> gradients(2);
  if (context.wanted[0]) gradients[0] = sum_to(factor(b, name_a), a.shape(), name_a);
  if (context.wanted[1]) gradients[1] = sum_to(factor(a, name_b), b.shape(), name_b);
  if (context.wanted[1] && kind_ == BroadcastKind::sub)
    gradients[1] = scale(gradients[1], -1, name_b + "/negated");
  return gradients;
}

Tensor broadcast(BroadcastKind kind, Tensor a, Tensor b, std::string_view name) {
  return a.graph().apply(std::make_shared<BroadcastOp>(kind), {a, b}, name)[0];
}

std::vector<TensorSpec> BroadcastToOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& x = inputs[0];
  require_floating(x, "x");
  if (broadcast_shape(x.shape, shape_) != shape_)
    fail("{} cannot be broadcast to {}", to_string(x), to_string(shape_));
  return {TensorSpec::dense(x.dtype, shape_)};
}

std::vector<Tensor> BroadcastToOp::vjp(const VjpContext& context) const {
  return {sum_to(context.output_gradients[0], context.inputs[0].shape(), context.name)};
}

Tensor broadcast_to(Tensor x, const Shape& shape, std::string_view name) {
  if (x.shape() == shape) return x;
  return x.graph().apply(std::make_shared<BroadcastToOp>(shape), {x}, name)[0];
}

}  // namespace swapadvisor
