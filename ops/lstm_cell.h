// One time step of a long short-term memory.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// What a cell hands to its next time step; `h` is also its output. Both [N, H].
struct LstmState {
  Tensor h, c;
};

/// "lstm_cell": (gates [N, 4H], c [N, H] or none) → (h, c′), both [N, H]. The gates are the sums of what the
/// input and the hidden state contribute, biases included, in the order i, f, g, o (PyTorch's, so that
/// weights need no reordering):
///     c′ = σ(f)·c + σ(i)·tanh(g),    h = σ(o)·tanh(c′).
/// Without c, c is 0: the first time step. The forget gate is that of Gers, Schmidhuber and Cummins (2000);
/// there are no peepholes. Row major, f32 or f64.
class LstmCellOp final : public Op {
 public:
  std::string_view type() const override { return "lstm_cell"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override;
};

/// Which operands a backward step of the LSTM has; absent gradients are 0.
struct LstmBackwardOperands {
  bool c = true;   ///< the cell state before the step, and its gradient among the outputs
  bool dh = true;  ///< the gradient of h
  bool dc = true;  ///< the gradient of c′
};

/// "lstm_cell_backward": (gates, [c], c′, [dh], [dc′]) → (dgates, [dc]). Computes the activations again from
/// the gates rather than keep them.
class LstmCellBackwardOp final : public Op {
 public:
  explicit LstmCellBackwardOp(const LstmBackwardOperands& operands) : operands_(operands) {}
  const LstmBackwardOperands& operands() const { return operands_; }

  std::string_view type() const override { return "lstm_cell_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }

 private:
  LstmBackwardOperands operands_;
};

/// Appends `LstmCellOp`. `c` may be absent.
LstmState lstm_cell(Tensor gates, Tensor c, std::string_view name = {});

}  // namespace swapadvisor
