// Rectified linear unit.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// y = max(x, 0), of x's spec; NaN stays NaN. Types: "relu" (x), "relu_backward" (dy, y).
/// The gradient needs y only, so x may be freed or overwritten.
Tensor relu(Tensor x, std::string_view name = {});

}  // namespace swapadvisor
