// Types of what normalisations take besides x.
#pragma once

#include <swapadvisor/core/shape.h>

namespace swapadvisor {

/// The type of all parameters and statistics of a normalisation: x's, or, where x is bf16 and the weight f32, f32.
inline DType norm_parameter_type(const TensorSpec& x, const TensorSpec& weight) {
  return x.dtype == DType::bf16 && weight.dtype == DType::f32 ? DType::f32 : x.dtype;
}

}  // namespace swapadvisor
