// Weights of micro-batches, so that the sum of their weighted mean losses is the mean over all of them.
#pragma once

#include <swapadvisor/core/graph.h>

#include <span>

namespace swapadvisor {

/// (counts…) → counts[index] / Σ counts, an f64 scalar; 0 when the sum is 0. Type "count_share".
class CountShareOp final : public Op {
 public:
  explicit CountShareOp(int index) : index_(index) {}
  int index() const { return index_; }

  std::string_view type() const override { return "count_share"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;

 private:
  int index_;
};

/// Appends `CountShareOp`. `counts`: i64 scalars (see label_count.h).
Tensor count_share(std::span<const Tensor> counts, int index, std::string_view name = {});

/// factor · x, of x's spec; `factor` is an f64 scalar, which gets no gradient. Type "scale_by".
Tensor scale_by(Tensor x, Tensor factor, std::string_view name = {});

}  // namespace swapadvisor
