// Sums and means over dimensions.
#pragma once

#include <swapadvisor/core/graph.h>

#include <vector>

namespace swapadvisor {

/// What is made of many elements.
enum class ReduceKind : std::uint8_t { sum, mean };

/// "sum", "mean": x → x summed or averaged over some dimensions, row major. f32 or f64, any strides;
/// accumulated in double in an order that depends on the shape only.
class ReduceOp final : public Op {
 public:
  /// `dimensions`: those that go away, or stay with extent 1 with `keep`.
  ReduceOp(ReduceKind kind, std::vector<int> dimensions, bool keep)
      : kind_(kind), dimensions_(std::move(dimensions)), keep_(keep) {}
  ReduceKind kind() const { return kind_; }
  const std::vector<int>& dimensions() const { return dimensions_; }
  std::string_view type() const override { return kind_ == ReduceKind::sum ? "sum" : "mean"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  ReduceKind kind_;
  std::vector<int> dimensions_;
  bool keep_;
};

/// The sum over `dimensions` (negative ones count from the end; none named: all of them). `keep`: they
/// stay, with extent 1.
Tensor sum(Tensor x, const std::vector<int>& dimensions = {}, bool keep = false, std::string_view name = {});
/// The mean over `dimensions`, named as for `sum`.
Tensor mean(Tensor x, const std::vector<int>& dimensions = {}, bool keep = false, std::string_view name = {});

/// The sum over all that broadcasting from `shape` to x's shape repeats: the gradient of a broadcast operand.
/// x itself when it has the shape.
Tensor sum_to(Tensor x, const Shape& shape, std::string_view name = {});

}  // namespace swapadvisor
