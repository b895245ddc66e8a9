// Drop path (Larsson et al. 2017, "FractalNet"): a branch of a network that some samples do without in
// training.
#pragma once

#include <swapadvisor/core/graph.h>

#include <algorithm>

namespace swapadvisor {

/// In that step, counted from 0: p · min(1, step / rise_steps); p where `rise_steps` is 0. For kernels.
constexpr double drop_path_probability(double p, std::int64_t rise_steps, std::int64_t step) {
  return rise_steps == 0 ? p : p * std::min(1.0, static_cast<double>(step) / static_cast<double>(rise_steps));
}

/// "drop_path": (x [N, …], step_number) → y. Sample n is zero when RandomStream{seed, draw_id,
/// step}.uniform(n) < q, else x multiplied by 1/(1 − q). q is `drop_path_probability` of
/// p and `rise_steps`. Draws are made again in the backward pass, never stored. Backward is the same map of
/// dy, under type "drop_path_backward".
class DropPathOp final : public Op {
 public:
  DropPathOp(double p, std::uint32_t draw_id, bool backward = false, std::int64_t rise_steps = 0)
      : p_(p), draw_id_(draw_id), backward_(backward), rise_steps_(rise_steps) {}
  double p() const { return p_; }
  std::int64_t rise_steps() const { return rise_steps_; }
  double probability(std::int64_t step) const { return drop_path_probability(p_, rise_steps_, step); }
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
  std::int64_t rise_steps_;
};

/// Drops samples of x with probability `p` in [0, 1); x itself for p = 0. `step_number`: i64 scalar, so that
/// every step draws anew. The draws depend on the seed, the step and the node's name only. `rise_steps`: from
/// 0 in step 0 the probability rises in proportion to the step until it is p in that step; 0: it is p always.
Tensor drop_path(Tensor x, Tensor step_number, double p, std::string_view name = {},
                 std::int64_t rise_steps = 0);

}  // namespace swapadvisor
