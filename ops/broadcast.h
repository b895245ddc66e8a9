// Sums, differences and products of tensors of different shapes, by NumPy's rules.
#pragma once

#include <swapadvisor/core/graph.h>

#include <optional>

namespace swapadvisor {

/// The shape both have once dimensions of extent 1, and absent leading ones, are repeated. Absent when they
/// do not fit.
std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b);
/// Different, but they fit.
bool are_broadcast(const Shape& a, const Shape& b);
/// Strides that show `spec` in the larger `shape`: 0 along repeated dimensions.
Shape broadcast_strides(const TensorSpec& spec, const Shape& shape);

/// What is done with two elements.
enum class BroadcastKind : std::uint8_t { add, sub, mul };

/// "broadcast_add", "broadcast_sub", "broadcast_mul": (a, b) → a + b, a − b or a · b over `broadcast_shape`.
/// f32 or f64; operands of any strides. The result is channels-last when an operand of its shape is, else row
/// major. Not in place: a repeated element is read again after it would be overwritten.
class BroadcastOp final : public Op {
 public:
  explicit BroadcastOp(BroadcastKind kind) : kind_(kind) {}
  BroadcastKind kind() const { return kind_; }
  std::string_view type() const override;
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  BroadcastKind kind_;
};

/// Appends `BroadcastOp`; `add`, `sub` and `mul` call it for operands of different shapes.
Tensor broadcast(BroadcastKind kind, Tensor a, Tensor b, std::string_view name = {});

/// "broadcast_to": x of any strides → x repeated to a larger shape, row major. f32 or f64.
class BroadcastToOp final : public Op {
 public:
  explicit BroadcastToOp(const Shape& shape) : shape_(shape) {}
  std::string_view type() const override { return "broadcast_to"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  Shape shape_;
};

/// Appends `BroadcastToOp`; x itself when it has the shape.
Tensor broadcast_to(Tensor x, const Shape& shape, std::string_view name = {});

}  // namespace swapadvisor
