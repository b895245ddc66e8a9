// Views with the dimensions in another order.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// A view of x whose dimension i is dimension order[i] of x; x itself when nothing moves. Ops that need dense
/// operands take it after `contiguous`.
Tensor permute(Tensor x, const Shape& order);

/// A view with two dimensions exchanged; negative ones count from the end, so (−2, −1) transposes matrices.
Tensor transpose(Tensor x, int first = -2, int second = -1);

}  // namespace swapadvisor
