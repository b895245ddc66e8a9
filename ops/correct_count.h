// Classification accuracy, as a count so that batches of any size add up.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Rows of `logits` [N, K] whose largest element (the first of equal ones; NaN counts as largest) is at
/// `labels` i32 [N]: an i64 scalar. A row labelled −100 is ignored, so it never counts. No gradient. Type:
/// "correct_count".
Tensor correct_count(Tensor logits, Tensor labels, std::string_view name = {});

}  // namespace swapadvisor
