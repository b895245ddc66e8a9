// Drop path (Larsson et al. 2017, "FractalNet"): a branch of a network that some samples do without in
// training.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// "drop_path": (x [N, …], step_number) → y. Sample n is zero when RandomStream{seed, draw_id,
/// step}.uniform(n) < p, else x multiplied by 1/(1 − p). Draws are made again in the backward pass, never
/// stored. Backward is the same map of dy, under type "drop_path_backward".
class DropPathOp final : public Op {
 public:
  DropPathOp(double p, std::uint32_t draw_id, bool backward = false)
      : p_(p), draw_id_(draw_id), backward_(backward) {}
  double p() const { return p_; }
  std::uint32_t draw_id() const { return draw_id_; }

  std::string_view type() const override { return backward_ ? "drop_path_backward" : "drop_path"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  double p_;
  std::uint32_t draw_id_;
  bool backward_;
};

/// Drops samples of x with probability `p` in [0, 1); x itself for p = 0. `step_number`: i64 scalar, so that
/// every step draws anew. The draws depend on the seed, the step and the node's name only.
Tensor drop_path(Tensor x, Tensor step_number, double p, std::string_view name = {});

}  // namespace swapadvisor
