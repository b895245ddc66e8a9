// Flattening of all dimensions but the first.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// [N, …] → [N, rest] as a view, in logical (row-major) order; channels-last tensors are reordered first.
Tensor flatten(Tensor x);

}  // namespace swapadvisor
