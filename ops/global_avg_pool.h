// Mean over height and width.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// "global_avg_pool": x [N, C, H, W] → y [N, C, 1, 1].
class GlobalAvgPoolOp final : public Op {
 public:
  std::string_view type() const override { return "global_avg_pool"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;
};

/// "global_avg_pool_backward": dy → dx. The spec of x is an attribute.
class GlobalAvgPoolBackwardOp final : public Op {
 public:
  explicit GlobalAvgPoolBackwardOp(const TensorSpec& x) : x_(x) {}
  std::string_view type() const override { return "global_avg_pool_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;

 private:
  TensorSpec x_;
};

/// Appends `GlobalAvgPoolOp` on x [N, C, H, W].
Tensor global_avg_pool(Tensor x, std::string_view name = {});

}  // namespace swapadvisor
