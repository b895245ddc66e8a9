// Element-wise functions whose gradient needs the result alone: relu, sigmoid, tanh.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Such a function: its op types, which are literals, and operations per element.
struct OwnGradientFunction {
  std::string_view type;           ///< x → y of x's spec
  std::string_view backward_type;  ///< (dy, y) → dx
  double flops, backward_flops;
};

/// Appends the function of x, floating and dense. x may be freed or overwritten.
Tensor apply_function(const OwnGradientFunction& function, Tensor x, std::string_view name);

}  // namespace swapadvisor
