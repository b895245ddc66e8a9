// Batch normalisation (Ioffe and Szegedy 2015) over all dimensions but 1, the channels.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// What batch normalisation computes while training.
struct BatchNormOutput {
  Tensor y;                  ///< of x's spec
  Tensor mean;               ///< [C], of the batch
  Tensor inverse_deviation;  ///< [C], 1/√(variance + ε) with the biased variance of the batch
};

/// (x, gamma, beta) → (y, mean, inverse_deviation); y = (x − mean)·inverse_deviation·gamma + beta. Pure:
/// running statistics have their own op. Only y has a gradient.
class BatchNormOp final : public Op {
 public:
  explicit BatchNormOp(double epsilon) : epsilon_(epsilon) {}
  double epsilon() const { return epsilon_; }

  std::string_view type() const override { return "batch_norm"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  double epsilon_;
};

/// (x, gamma, beta, running_mean, running_var) → y; no gradient.
class BatchNormInferenceOp final : public Op {
 public:
  explicit BatchNormInferenceOp(double epsilon) : epsilon_(epsilon) {}
  double epsilon() const { return epsilon_; }

  std::string_view type() const override { return "batch_norm_inference"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }

 private:
  double epsilon_;
};

/// (mean, inverse_deviation, running_mean, running_var, num_batches_tracked, finite) → the three states, in
/// place: r = (1 − momentum)·r + momentum·batch value, with the unbiased variance; the counter plus 1.
/// Nothing changes when `finite` is 0.
class BnRunningUpdateOp final : public Op {
 public:
  BnRunningUpdateOp(std::int64_t count, double momentum, double epsilon)
      : count_(count), momentum_(momentum), epsilon_(epsilon) {}
  std::int64_t count() const { return count_; }
  double momentum() const { return momentum_; }
  double epsilon() const { return epsilon_; }

  std::string_view type() const override { return "bn_running_update"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Traits traits() const override { return {.recomputable = false, .updates = {{0, 2}, {1, 3}, {2, 4}}}; }

 private:
  std::int64_t count_;
  double momentum_, epsilon_;
};

/// Training. x: [N, C, …], rank 2 or more, row major or channels-last (the fast one); gamma, beta: [C] of x's
/// type, or f32 where x is bf16. Statistics and the gradients of gamma and beta have gamma's type. The
/// backward op is "batch_norm_backward" (dy, x, gamma, mean, inverse_deviation) → (dx, dgamma, dbeta).
BatchNormOutput batch_norm(Tensor x, Tensor gamma, Tensor beta, double epsilon = 1e-5,
                           std::string_view name = {});

/// Evaluation, with parameters and statistics of x's type, or f32 where x is bf16: y = (x −
/// running_mean)/√(running_var + ε)·gamma + beta.
Tensor batch_norm_inference(Tensor x, Tensor gamma, Tensor beta, Tensor running_mean, Tensor running_var,
                            double epsilon = 1e-5, std::string_view name = {});

/// `count`: values per channel that the statistics were taken over (N·H·W), at least 2.
/// `num_batches_tracked`: i64 scalar; `finite`: i32 scalar. `epsilon` as given to `batch_norm`.
void bn_running_update(Tensor mean, Tensor inverse_deviation, Tensor running_mean, Tensor running_var,
                       Tensor num_batches_tracked, Tensor finite, std::int64_t count, double momentum = 0.1,
                       double epsilon = 1e-5, std::string_view name = {});

}  // namespace swapadvisor
