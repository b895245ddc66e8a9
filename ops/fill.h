// A tensor of equal elements.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// No inputs; every element is `value`.
class FillOp final : public Op {
 public:
  FillOp(const TensorSpec& spec, double value) : spec_(spec), value_(value) {}
  double value() const { return value_; }

  std::string_view type() const override { return "fill"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;

 private:
  TensorSpec spec_;
  double value_;
};

/// A floating-point tensor of `spec` whose elements are all `value`.
Tensor fill(Graph& graph, const TensorSpec& spec, double value, std::string_view name = {});

}  // namespace swapadvisor
