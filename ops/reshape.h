// Views with another shape.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// x with another shape of as many elements, in logical (row-major) order. One dimension may be −1: what is
/// left. A view where the strides of x allow it, else a view of a row-major copy named `name`. Throws `Error`
/// when the element counts differ.
Tensor reshape(Tensor x, Shape shape, std::string_view name = {});

}  // namespace swapadvisor
