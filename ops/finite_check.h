// The flag that stops all updates of a step whose loss is not finite.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// flag = flag and isfinite(loss), in place; returns the new value of `flag`. `loss`: a floating-point tensor
/// (every element must be finite); `flag`: an i32 scalar state, 1 while all is well. Once 0 it stays 0. Type:
/// "finite_check".
Tensor finite_check(Tensor loss, Tensor flag, std::string_view name = {});

}  // namespace swapadvisor
