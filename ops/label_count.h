// How many labels count: what a mean over rows was divided by.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Elements of `labels`, i32 [N], that are not `ignored_label`: an i64 scalar. No gradient. Type:
/// "label_count".
Tensor label_count(Tensor labels, std::string_view name = {});

}  // namespace swapadvisor
