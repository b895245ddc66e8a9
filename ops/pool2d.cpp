#include <swapadvisor/ops/pool2d.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {
namespace {

std::int64_t output_size(std::string_view what, std::int64_t size, std::size_t axis,
                         const Pool2dOptions& options) {
  constexpr std::int64_t largest = 1 << 24;
  const std::int64_t kernel = options.kernel[axis], stride = options.stride[axis],
                     padding = options.padding[axis];
  if (kernel < 1 || kernel > largest) fail("kernel must be between 1 and {}, got {}", largest, kernel);
  if (stride < 1 || stride > largest) fail("stride must be between 1 and {}, got {}", largest, stride);
  if (padding < 0 || 2 * padding > kernel)
    fail("padding must be between 0 and half of the kernel {}, got {}", kernel, padding);
  const std::int64_t rest = size + 2 * padding - kernel;
  // Rounded up, a window may reach beyond the end, as long as it is the first.
  if (rest < 0 && !(options.ceil_mode && rest > -stride))
    fail("a kernel {} of {} exceeds the padded input {} of {}", what, kernel, what, size + 2 * padding);
  if (!options.ceil_mode) return rest / stride + 1;
  const std::int64_t outputs = (rest + stride - 1) / stride + 1;  // 1 for a negative rest
  return (outputs - 1) * stride >= size + padding ? outputs - 1 : outputs;
}

}  // namespace

Pool2dGeometry pool2d_geometry(const TensorSpec& x, const Pool2dOptions& options) {
  check_image(x);
  return {x.shape[0],
          x.shape[1],
          x.shape[2],
          x.shape[3],
          output_size("height", x.shape[2], 0, options),
          output_size("width", x.shape[3], 1, options),
          options};
}

TensorSpec pool2d_output(const TensorSpec& x, const Pool2dOptions& options, DType dtype) {
  const Pool2dGeometry g = pool2d_geometry(x, options);
  return TensorSpec::dense(dtype, {g.batch, g.channels, g.out_height, g.out_width}, stored_layout(x));
}

void check_pool2d_operand(std::string_view what, const TensorSpec& operand, const TensorSpec& expected) {
  const bool same_layout = expected.is_channels_last() ? operand.is_channels_last() : operand.is_row_major();
  if (operand.dtype != expected.dtype || operand.shape != expected.shape || !same_layout)
    fail("{} must be {}, got {}", what, to_string(expected), to_string(operand));
}

}  // namespace swapadvisor
