// Sums of two tensors.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// a + b, element by element. Same shape: type "add", both dense with the same strides (a view in other strides is
/// copied first). Else they are broadcast by NumPy's rules, see `BroadcastOp`.
Tensor add(Tensor a, Tensor b, std::string_view name = {});

/// sum += x in place; returns the new value of `sum`'s buffer. `sum` must be a whole buffer. Type:
/// "accumulate".
Tensor accumulate(Tensor sum, Tensor x, std::string_view name = {});

}  // namespace swapadvisor
