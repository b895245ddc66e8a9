// One time step of a gated recurrent unit.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// "gru_cell": (x_gates [N, 3H], h_gates [N, 3H], h [N, H] or none) → h′ [N, H]. x_gates is what the input
/// contributes to the gates and h_gates what the hidden state does, each with its bias, in the order r, z, n
/// (PyTorch's formula, whose reset gate also scales the hidden bias: Cho et al. 2014 with the product outside
/// of the matrix):
///     n = tanh(x_n + σ(x_r + h_r)·h_n),    z = σ(x_z + h_z),    h′ = (1 − z)·n + z·h.
/// Without h, h is 0: the first time step. Row major, f32 or f64.
class GruCellOp final : public Op {
 public:
  std::string_view type() const override { return "gru_cell"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override;
};

/// "gru_cell_backward": (x_gates, h_gates, h or none, dh′) → (dx_gates, dh_gates, and dh if there is an h).
/// dh is what h gets through z·h alone; the rest comes through h_gates. Computes the activations again rather
/// than keep them.
class GruCellBackwardOp final : public Op {
 public:
  explicit GruCellBackwardOp(bool has_h) : has_h_(has_h) {}
  bool has_h() const { return has_h_; }

  std::string_view type() const override { return "gru_cell_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }

 private:
  bool has_h_;
};

/// Appends `GruCellOp`; returns h′. `h` may be absent.
Tensor gru_cell(Tensor x_gates, Tensor h_gates, Tensor h, std::string_view name = {});

}  // namespace swapadvisor
