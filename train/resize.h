// Scaling of images.
#pragma once

#include <swapadvisor/core/shape.h>
#include <swapadvisor/train/augment.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace swapadvisor {

/// Bytes of an image in any order: pixel (c, y, x) is at c · channel + y · row + x · pixel.
struct ImageView {
  const std::uint8_t* data = nullptr;
  std::int64_t channels = 0, height = 0, width = 0;
  std::int64_t channel = 0, row = 0, pixel = 0;

  /// Dense C, H, W.
  static ImageView planar(std::span<const std::uint8_t> bytes, const Shape& shape);
  /// Dense H, W, C: as decoders give them.
  static ImageView interleaved(std::span<const std::uint8_t> bytes, std::int64_t channels,
                               std::int64_t height, std::int64_t width);
};

/// Writes the pixels of `box` of `image`, scaled to height × width, to `out` (C, H, W, dense). Bilinear with
/// a triangle that widens with the scale when the image shrinks, so that every pixel counts: what Pillow
/// calls bilinear. Pixels outside the box play no part.
void resize(const ImageView& image, const CropBox& box, std::int64_t height, std::int64_t width,
            std::span<std::uint8_t> out);

}  // namespace swapadvisor
