// Cross entropy between softmax(logits) and class labels, averaged over rows.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Rows with this label add nothing to the loss, nor to the number of rows it is averaged over.
inline constexpr std::int32_t ignored_label = -100;

/// loss = mean over valid rows n of −Σ_k q_nk log softmax(logits_n)_k, with q_nk = (1 − s)[k = label_n] + s/K
/// and s the label smoothing (Szegedy et al. 2016, section 7; PyTorch's convention). 0 when no row is valid;
/// NaN when a label is neither in [0, K) nor `ignored_label`.
class SoftmaxCrossEntropyOp final : public Op {
 public:
  explicit SoftmaxCrossEntropyOp(double label_smoothing) : label_smoothing_(label_smoothing) {}
  double label_smoothing() const { return label_smoothing_; }

  std::string_view type() const override { return "softmax_cross_entropy"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  double label_smoothing_;
};

/// (dloss, logits, labels) → dlogits. Computes the softmax again rather than keep it.
class SoftmaxCrossEntropyBackwardOp final : public Op {
 public:
  explicit SoftmaxCrossEntropyBackwardOp(double label_smoothing) : label_smoothing_(label_smoothing) {}
  double label_smoothing() const { return label_smoothing_; }

  std::string_view type() const override { return "softmax_cross_entropy_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }

 private:
  double label_smoothing_;
};

/// logits: f32 or f64 [N, K] row major; labels: i32 [N]. Result: a scalar of the logits' type.
Tensor softmax_cross_entropy(Tensor logits, Tensor labels, double label_smoothing = 0,
                             std::string_view name = {});

}  // namespace swapadvisor
