// Hyperbolic tangent.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// y = tanh x, of x's spec; NaN stays NaN. Types: "tanh" (x), "tanh_backward" (dy, y) with dx = dy·(1 − y²).
/// The gradient needs y only, so x may be freed or overwritten.
Tensor tanh(Tensor x, std::string_view name = {});

}  // namespace swapadvisor
