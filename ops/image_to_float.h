// Bytes of an image batch to normalised floating-point activations.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// y = (x / 255 − mean[c]) / deviation[c].
class ImageToFloatOp final : public Op {
 public:
  ImageToFloatOp(DType dtype, Layout layout, std::vector<double> mean, std::vector<double> deviation)
      : dtype_(dtype), layout_(layout), mean_(std::move(mean)), deviation_(std::move(deviation)) {}
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& deviation() const { return deviation_; }

  std::string_view type() const override { return "image_to_float"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;

 private:
  DType dtype_;
  Layout layout_;
  std::vector<double> mean_, deviation_;
};

/// x: u8 [N, C, H, W] row major, as files store images. Result: `dtype` [N, C, H, W] in `layout`. One mean
/// and one deviation (> 0) per channel, of values in [0, 1]. Bytes have no gradient.
Tensor image_to_float(Tensor x, DType dtype, Layout layout, std::vector<double> mean,
                      std::vector<double> deviation, std::string_view name = {});

}  // namespace swapadvisor
