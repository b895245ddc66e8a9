// Softmax over the last dimension, with what attention needs of it.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// What comes before the exponential.
struct SoftmaxOptions {
  double scale = 1;     ///< of the scores; 1/√d in attention
  bool causal = false;  ///< scores [..., T, S]: query t sees the keys up to t + S − T only
};

/// (scores [, key_mask]) → y of the scores' spec: over the keys that a row sees, y = e^(scale·score) divided
/// by the sum of these; 0 for the others. A row that sees no key is 0 everywhere. Attention's softmax
/// (Vaswani et al. 2017).
class SoftmaxOp final : public Op {
 public:
  explicit SoftmaxOp(const SoftmaxOptions& options) : options_(options) {}
  const SoftmaxOptions& options() const { return options_; }

  std::string_view type() const override { return "softmax"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  SoftmaxOptions options_;
};

/// (dy, y) → dscores = scale·y·(dy − Σ dy·y).
class SoftmaxBackwardOp final : public Op {
 public:
  explicit SoftmaxBackwardOp(const SoftmaxOptions& options) : options_(options) {}
  const SoftmaxOptions& options() const { return options_; }

  std::string_view type() const override { return "softmax_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }

 private:
  SoftmaxOptions options_;
};

/// scores: f32 or f64, row major, [..., S]. key_mask: absent, or i32 [N, S] with N the scores' first
/// dimension, as Hugging Face's attention_mask: keys with 0 are not seen by any row of sample n.
Tensor softmax(Tensor scores, const SoftmaxOptions& options = {}, Tensor key_mask = {},
               std::string_view name = {});

}  // namespace swapadvisor
