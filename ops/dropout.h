// Dropout (Srivastava et al. 2014), inverted: kept elements are scaled up while training.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// (x, step_number) → y. Element i, in memory order, is dropped when RandomStream{seed, draw_id,
/// step}.uniform(i) < p, else multiplied by 1/(1 − p). The mask is drawn again in the backward pass, never
/// stored. Backward is the same map of dy, under type "dropout_backward".
class DropoutOp final : public Op {
 public:
  DropoutOp(double p, std::uint32_t draw_id, bool backward = false)
      : p_(p), draw_id_(draw_id), backward_(backward) {}
  double p() const { return p_; }
  std::uint32_t draw_id() const { return draw_id_; }

  std::string_view type() const override { return backward_ ? "dropout_backward" : "dropout"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  double p_;
  std::uint32_t draw_id_;
  bool backward_;
};

/// Drops elements of x with probability `p` in [0, 1); x itself for p = 0. `step_number`: i64 scalar, so that
/// every step draws anew. The draws depend on the seed, the step and the node's name only.
Tensor dropout(Tensor x, Tensor step_number, double p, std::string_view name = {});

}  // namespace swapadvisor
