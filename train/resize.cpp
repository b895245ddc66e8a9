#include <swapadvisor/train/resize.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace swapadvisor {
namespace {

/// The source pixels of one pixel of the result, with weights of sum 1.
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
};

std::vector<Taps> taps_of(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  std::vector<Taps> all(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    Taps& taps = all[static_cast<std::size_t>(i)];
    taps.first = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - reach + 0.5));
    const std::int64_t last = std::min(from, static_cast<std::int64_t>(centre + reach + 0.5));
    double sum = 0;
    std::vector<double> weights;
    for (std::int64_t s = taps.first; s < last; ++s) {
      weights.push_back(std::max(0.0, 1 - std::abs(static_cast<double>(s) + 0.5 - centre) / reach));
      sum += weights.back();
    }
    for (double w : weights) taps.weights.push_back(static_cast<float>(w / sum));
  }
  return all;
}

std::uint8_t to_byte(float value) {
  return static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
}

}  // namespace

ImageView ImageView::planar(std::span<const std::uint8_t> bytes, const Shape& shape) {
  return {bytes.data(), shape[0], shape[1], shape[2], shape[1] * shape[2], shape[2], 1};
}

ImageView ImageView::interleaved(std::span<const std::uint8_t> bytes, std::int64_t channels,
                                 std::int64_t height, std::int64_t width) {
  return {bytes.data(), channels, height, width, 1, width * channels, channels};
}

void resize(const ImageView& image, const CropBox& box, std::int64_t height, std::int64_t width,
            std::span<std::uint8_t> out) {
  SWAPADVISOR_ASSERT(box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0 &&
                         box.x + box.width <= image.width && box.y + box.height <= image.height &&
                         std::ssize(out) == image.channels * height * width,
                     "{}×{} at ({}, {}) of an image of {}×{} to {} bytes", box.width, box.height, box.x,
                     box.y, image.width, image.height, out.size());
  const std::vector<Taps> columns = taps_of(box.width, width), rows = taps_of(box.height, height);
  // Across first, rounded to bytes between the two as Pillow does.
  std::vector<std::uint8_t> across(static_cast<std::size_t>(box.height * width));
  for (std::int64_t c = 0; c < image.channels; ++c) {
    const std::uint8_t* plane = image.data + c * image.channel + box.y * image.row + box.x * image.pixel;
    for (std::int64_t y = 0; y < box.height; ++y)
      for (std::int64_t x = 0; x < width; ++x) {
        const Taps& taps = columns[static_cast<std::size_t>(x)];
        const std::uint8_t* from = plane + y * image.row + taps.first * image.pixel;
        float sum = 0;
        for (float weight : taps.weights) {
          sum += weight * static_cast<float>(*from);
          from += image.pixel;
        }
        across[static_cast<std::size_t>(y * width + x)] = to_byte(sum);
      }
    for (std::int64_t y = 0; y < height; ++y) {
      const Taps& taps = rows[static_cast<std::size_t>(y)];
      for (std::int64_t x = 0; x < width; ++x) {
        const std::uint8_t* from = across.data() + taps.first * width + x;
        float sum = 0;
        for (float weight : taps.weights) {
          sum += weight * static_cast<float>(*from);
          from += width;
        }
        out[static_cast<std::size_t>((c * height + y) * width + x)] = to_byte(sum);
      }
    }
  }
}

}  // namespace swapadvisor
