// The snake activation (Ziyin, Hartwig and Ueda 2020, "Neural Networks Fail to Learn Periodic Functions and
// How to Fix It", equation 3): y = x + sin²(a·x)/a.
#pragma once

#include <swapadvisor/core/graph.h>
#include <swapadvisor/core/kernel.h>

/// "snake": x → y, of x's spec. `frequency` is a, not 0.
class SnakeOp final : public swapadvisor::Op {
 public:
  explicit SnakeOp(double frequency) : frequency_(frequency) {}
  double frequency() const { return frequency_; }

  std::string_view type() const override { return "snake"; }
  std::vector<swapadvisor::TensorSpec> infer(std::span<const swapadvisor::TensorSpec> inputs) const override;
  swapadvisor::Cost cost(std::span<const swapadvisor::TensorSpec> inputs,
                         std::span<const swapadvisor::TensorSpec> outputs) const override;
  swapadvisor::Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<swapadvisor::Tensor> vjp(const swapadvisor::VjpContext& context) const override;

 private:
  double frequency_;
};

/// "snake_backward": (dy, x) → dx = dy·(1 + sin(2a·x)).
class SnakeBackwardOp final : public swapadvisor::Op {
 public:
  explicit SnakeBackwardOp(double frequency) : frequency_(frequency) {}
  double frequency() const { return frequency_; }

  std::string_view type() const override { return "snake_backward"; }
  std::vector<swapadvisor::TensorSpec> infer(std::span<const swapadvisor::TensorSpec> inputs) const override;
  swapadvisor::Traits traits() const override { return {.inplace = true, .updates = {}}; }

 private:
  double frequency_;
};

/// Appends the op to x's graph.
swapadvisor::Tensor snake(swapadvisor::Tensor x, double frequency, std::string_view name = {});

/// The CPU's kernels of both ops, for f32 and f64.
void add_snake_kernels(swapadvisor::KernelSet& kernels);
