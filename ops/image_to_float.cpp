#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/image_to_float.h>

#include <cmath>

namespace swapadvisor {

std::vector<TensorSpec> ImageToFloatOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& x = inputs[0];
  if (x.dtype != DType::u8 || x.rank() != 4 || !x.is_row_major())
    fail("x must be u8 [N, C, H, W] in row-major order, got {}", to_string(x));
  if (!is_floating(dtype_)) fail("the result must be f32 or f64, not {}", name_of(dtype_));
  const auto channels = static_cast<std::size_t>(x.shape[1]);
  if (mean_.size() != channels || deviation_.size() != channels)
    fail("x has {} channels, but there are {} means and {} deviations", channels, mean_.size(),
         deviation_.size());
  for (std::size_t c = 0; c < channels; ++c)
    if (!std::isfinite(mean_[c]) || !(deviation_[c] > 0) || !std::isfinite(deviation_[c]))
      fail("channel {} has mean {} and deviation {}: both must be finite, the deviation positive", c,
           mean_[c], deviation_[c]);
  return {TensorSpec::dense(dtype_, x.shape, layout_)};
}

Cost ImageToFloatOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {3.0 * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

Tensor image_to_float(Tensor x, DType dtype, Layout layout, std::vector<double> mean,
                      std::vector<double> deviation, std::string_view name) {
  auto op = std::make_shared<ImageToFloatOp>(dtype, layout, std::move(mean), std::move(deviation));
  return x.graph().apply(std::move(op), {x}, name)[0];
}

}  // namespace swapadvisor
