// A data set of your own: grey images of stripes, labelled with their direction.
#pragma once

#include <swapadvisor/train/dataset.h>

/// `size` images [1, 16, 16] of four directions, width and phase of the stripes at random, with noise. The
/// images of both splits differ; a pure function of (split, index).
class Stripes final : public swapadvisor::ImageDataset {
 public:
  Stripes(swapadvisor::Split split, std::int64_t size) : split_(split), size_(size) {}

  std::int64_t size() const override { return size_; }
  swapadvisor::Shape image_shape() const override { return {1, side, side}; }
  int classes() const override { return 4; }
  std::vector<double> mean() const override { return {0.5}; }
  std::vector<double> deviation() const override { return {0.29}; }
  void image(std::int64_t index, std::span<std::uint8_t> out) const override;
  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>(index % classes());
  }

  static constexpr std::int64_t side = 16;

 private:
  swapadvisor::Split split_;
  std::int64_t size_;
};
