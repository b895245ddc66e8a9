// Labels of a causal language model.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// "shift_labels": labels i32 [N, T] → i32 [N, T], each row one to the left: what position t is to predict is
/// token t + 1. The last position has nothing to predict: `ignored_label`. Not differentiable.
class ShiftLabelsOp final : public Op {
 public:
  std::string_view type() const override { return "shift_labels"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
};

/// Appends `ShiftLabelsOp`.
Tensor shift_labels(Tensor labels, std::string_view name = {});

}  // namespace swapadvisor
