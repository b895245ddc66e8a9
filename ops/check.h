// Checks shared by shape inference. Each throws `Error` with one sentence; `what` names the operand
// ("weight").
#pragma once

#include <swapadvisor/core/shape.h>

#include <string_view>

namespace swapadvisor {

/// f32 or f64.
void require_floating(const TensorSpec& spec, std::string_view what);
/// A tensor of one element and rank 0.
void require_scalar(const TensorSpec& spec, DType dtype, std::string_view what);
/// A dense tensor of rank 1 with `size` elements.
void require_vector(const TensorSpec& spec, DType dtype, std::int64_t size, std::string_view what);
/// Equal type, shape and strides, so that element i of one belongs to element i of the other in memory order.
void require_same(const TensorSpec& a, std::string_view what_a, const TensorSpec& b, std::string_view what_b);
/// Dense in row-major or channels-last order: what kernels can walk.
void require_dense(const TensorSpec& spec, std::string_view what);
/// Without gaps, in whatever order of dimensions: what can be walked element by element.
void require_filled(const TensorSpec& spec, std::string_view what);
/// The index of a dimension that may be counted from the end: −1 is the last one.
int dimension_of(const TensorSpec& spec, int dimension);

}  // namespace swapadvisor
