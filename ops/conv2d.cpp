#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {
namespace {

constexpr std::int64_t largest_size = 1 << 24;  // keeps products of two sizes far from overflow

void check_option(std::string_view what, std::int64_t value, std::int64_t least) {
  if (value < least || value > largest_size)
    fail("{} must be between {} and {}, got {}", what, least, largest_size, value);
}

void check_options(const Conv2dOptions& options) {
  for (std::size_t i = 0; i < 2; ++i) {
    check_option("stride", options.stride[i], 1);
    check_option("padding", options.padding[i], 0);
    check_option("dilation", options.dilation[i], 1);
  }
  check_option("groups", options.groups, 1);
}

std::int64_t output_size(std::string_view what, std::int64_t size, std::int64_t kernel, std::size_t axis,
                         const Conv2dOptions& options) {
  check_option("kernel size", kernel, 1);
  const std::int64_t extent = options.dilation[axis] * (kernel - 1) + 1;
  const std::int64_t padded = size + 2 * options.padding[axis];
  if (extent > padded)
    fail("a kernel {} of {} exceeds the padded input {} of {}", what, extent, what, padded);
  return (padded - extent) / options.stride[axis] + 1;
}

TensorSpec output_spec(const TensorSpec& x, const Conv2dGeometry& g) {
  return TensorSpec::dense(x.dtype, {g.batch, g.out_channels, g.out_height, g.out_width}, stored_layout(x));
}

void check_output_gradient(const TensorSpec& dy, const TensorSpec& x, const Conv2dGeometry& g) {
  const TensorSpec y = output_spec(x, g);
  const bool same_layout = y.is_channels_last() ? dy.is_channels_last() : dy.is_row_major();
  if (dy.dtype != y.dtype || dy.shape != y.shape || !same_layout)
    fail("output gradient must be {}, got {}", to_string(y), to_string(dy));
}

}  // namespace

bool Conv2dGeometry::pointwise() const {
  constexpr std::array<std::int64_t, 2> ones{1, 1}, zeros{0, 0};
  return taps() == 1 && options.stride == ones && options.padding == zeros;
}

double Conv2dGeometry::flops() const {
  return 2.0 * static_cast<double>(batch) * static_cast<double>(out_height * out_width) *
         static_cast<double>(out_channels) * static_cast<double>(patch());
}

Conv2dGeometry conv2d_geometry(const TensorSpec& x, const TensorSpec& weight, const Conv2dOptions& options) {
  check_options(options);
  check_image(x);
  if (weight.rank() != 4 || !weight.is_row_major())
    fail("weight must be row major with 4 dimensions (OIHW), got {}", to_string(weight));
  if (weight.dtype != x.dtype) fail("weight is {} but x is {}", name_of(weight.dtype), name_of(x.dtype));
  const std::int64_t groups = options.groups, out_channels = weight.shape[0];
  if (x.shape[1] % groups != 0) fail("{} input channels do not divide into {} groups", x.shape[1], groups);
  if (out_channels % groups != 0)
    fail("{} output channels do not divide into {} groups", out_channels, groups);
  if (weight.shape[1] != x.shape[1] / groups)
    fail("weight expects {} input channels, got {}", weight.shape[1] * groups, x.shape[1]);
  const std::int64_t out_height = output_size("height", x.shape[2], weight.shape[2], 0, options);
  const std::int64_t out_width = output_size("width", x.shape[3], weight.shape[3], 1, options);
  return {x.shape[0], x.shape[1], x.shape[2],      x.shape[3],      out_channels,
          out_height, out_width,  weight.shape[2], weight.shape[3], options};
}

std::vector<TensorSpec> Conv2dOp::infer(std::span<const TensorSpec> inputs) const {
  return {output_spec(inputs[0], conv2d_geometry(inputs[0], inputs[1], options_))};
}

Cost Conv2dOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {conv2d_geometry(inputs[0], inputs[1], options_).flops(), bytes_of(inputs, outputs)};
}

std::vector<Tensor> Conv2dOp::vjp(const VjpContext& context) const {
  std::vector<Tensor> gradients(2);
  if (!context.output_gradients[0]) return gradients;
  const Tensor x = context.inputs[0], weight = context.inputs[1];
  const Tensor dy = to_layout(context.output_gradients[0], stored_layout(context.outputs[0].spec()));
  if (context.wanted[0])
    gradients[0] = conv2d_backward_data(dy, weight, x.spec(), options_, context.name + "/x");
  if (context.wanted[1])
    gradients[1] = conv2d_backward_weight(x, dy, weight.spec(), options_, context.name + "/weight");
  return gradients;
}

std::vector<TensorSpec> Conv2dBackwardDataOp::infer(std::span<const TensorSpec> inputs) const {
  check_output_gradient(inputs[0], x_, conv2d_geometry(x_, inputs[1], options_));
  return {x_};
}

Cost Conv2dBackwardDataOp::cost(std::span<const TensorSpec> inputs,
                                std::span<const TensorSpec> outputs) const {
  return {conv2d_geometry(x_, inputs[1], options_).flops(), bytes_of(inputs, outputs)};
}

std::vector<TensorSpec> Conv2dBackwardWeightOp::infer(std::span<const TensorSpec> inputs) const {
  check_output_gradient(inputs[1], inputs[0], conv2d_geometry(inputs[0], weight_, options_));
  return {weight_};
}

Cost Conv2dBackwardWeightOp::cost(std::span<const TensorSpec> inputs,
                                  std::span<const TensorSpec> outputs) const {
  return {conv2d_geometry(inputs[0], weight_, options_).flops(), bytes_of(inputs, outputs)};
}

Tensor conv2d(Tensor x, Tensor weight, const Conv2dOptions& options, std::string_view name) {
  return x.graph().apply(std::make_shared<Conv2dOp>(options), {x, weight}, name)[0];
}

Tensor conv2d_backward_data(Tensor dy, Tensor weight, const TensorSpec& x, const Conv2dOptions& options,
                            std::string_view name) {
  return dy.graph().apply(std::make_shared<Conv2dBackwardDataOp>(options, x), {dy, weight}, name)[0];
}

Tensor conv2d_backward_weight(Tensor x, Tensor dy, const TensorSpec& weight, const Conv2dOptions& options,
                              std::string_view name) {
  return x.graph().apply(std::make_shared<Conv2dBackwardWeightOp>(options, weight), {x, dy}, name)[0];
}

}  // namespace swapadvisor
