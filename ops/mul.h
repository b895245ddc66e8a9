// Products, element by element.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// a · b, element by element. Same shape: type "mul", both dense with the same strides (a view in other
/// strides is copied first). Else they are broadcast by NumPy's rules, see `BroadcastOp`.
Tensor mul(Tensor a, Tensor b, std::string_view name = {});

}  // namespace swapadvisor
