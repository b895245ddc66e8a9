// Sums of two tensors.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// a + b, element by element; both of the same spec, strides included. Type: "add".
Tensor add(Tensor a, Tensor b, std::string_view name = {});

/// sum += x in place; returns the new value of `sum`'s buffer. `sum` must be a whole buffer. Type:
/// "accumulate".
Tensor accumulate(Tensor sum, Tensor x, std::string_view name = {});

}  // namespace swapadvisor
