// Logistic sigmoid.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// y = 1/(1 + e^−x), of x's spec; NaN stays NaN. Types: "sigmoid" (x), "sigmoid_backward" (dy, y) with dx =
/// dy·y·(1 − y). The gradient needs y only, so x may be freed or overwritten.
Tensor sigmoid(Tensor x, std::string_view name = {});

}  // namespace swapadvisor
