// Random crops and flips of training images.
#pragma once

#include <swapadvisor/core/shape.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace swapadvisor {

/// What may happen to an image. The default changes nothing: what evaluation uses.
struct Augmentation {
  int crop_padding = 0;          ///< zeros added on every side before a crop of the original size is taken
  bool horizontal_flip = false;  ///< mirrored with probability 1/2
  /// A part of 8 to 100 % of the area, at a ratio of 3/4 to 4/3, is scaled to the size of the image (Szegedy
  /// et al. 2015, "Going Deeper with Convolutions", section 6); instead of the crop by pixels.
  bool resized_crop = false;

  bool active() const { return crop_padding > 0 || horizontal_flip || resized_crop; }
};

/// "none", or a list of `crop[:PIXELS]` (4 pixels of padding) or `resized-crop`, and `flip`. Throws `Error`
/// quoting the text.
Augmentation parse_augmentation(std::string_view text);

/// Pixels of a crop: from (x, y) on, width × height.
struct CropBox {
  std::int64_t x = 0, y = 0, width = 0, height = 0;
};

/// The box that `resized_crop` takes of an image of that size; drawn from (seed, epoch, sample).
CropBox random_crop_box(std::int64_t width, std::int64_t height, std::uint64_t seed, std::int64_t epoch,
                        std::int64_t sample);
/// Whether `horizontal_flip` mirrors the sample.
bool draws_flip(std::uint64_t seed, std::int64_t epoch, std::int64_t sample);

/// Writes the augmented `image` (both C, H, W and dense, not overlapping) to `out`. The result is a pure
/// function of the arguments: crop and flip are drawn from (seed, epoch, sample), so neither threads nor
/// order matter.
void augment(std::span<const std::uint8_t> image, const Shape& shape, const Augmentation& augmentation,
             std::uint64_t seed, std::int64_t epoch, std::int64_t sample, std::span<std::uint8_t> out);

}  // namespace swapadvisor
