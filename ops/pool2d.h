// What max and average pooling share: options and sizes.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Attributes of pooling.
struct Pool2dOptions {
  std::array<std::int64_t, 2> kernel{2, 2}, stride{2, 2}, padding{0, 0};  ///< height, width
  bool ceil_mode = false;  ///< round the output size up; windows still start inside x or its left padding
  bool count_include_pad = true;  ///< average pooling: does padding count in the divisor?
};

/// Sizes of one pooling, checked.
struct Pool2dGeometry {
  std::int64_t batch, channels, height, width, out_height, out_width;
  Pool2dOptions options;
};

/// Throws `Error` for impossible options. Padding is at most half of the kernel, so every window meets x.
Pool2dGeometry pool2d_geometry(const TensorSpec& x, const Pool2dOptions& options);

/// The spec of y, of element type `dtype`, in the layout of x.
TensorSpec pool2d_output(const TensorSpec& x, const Pool2dOptions& options, DType dtype);

/// Throws `Error` unless `operand` has the type, shape and layout of `expected`.
void check_pool2d_operand(std::string_view what, const TensorSpec& operand, const TensorSpec& expected);

}  // namespace swapadvisor
