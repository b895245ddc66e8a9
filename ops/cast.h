// Conversion between element types.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// y = x in another floating-point type. x may have any type.
class CastOp final : public Op {
 public:
  explicit CastOp(DType target) : target_(target) {}
  DType target() const { return target_; }

  std::string_view type() const override { return "cast"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  DType target_;
};

/// x as `target` (f32, f64 or bf16), rounded to nearest; x itself when it already is of that type.
Tensor cast(Tensor x, DType target, std::string_view name = {});

}  // namespace swapadvisor
