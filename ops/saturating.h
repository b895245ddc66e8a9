// Element-wise functions whose gradient needs the result alone: sigmoid, tanh.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Op types of such a function; literals.
struct SaturatingTypes {
  std::string_view forward;   ///< x → y of x's spec
  std::string_view backward;  ///< (dy, y) → dx
};

/// Appends the function of x, floating and dense. x may be freed or overwritten.
Tensor saturating(const SaturatingTypes& types, Tensor x, std::string_view name);

}  // namespace swapadvisor
