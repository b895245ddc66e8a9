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

  bool active() const { return crop_padding > 0 || horizontal_flip; }
};

/// "none", or a list of `crop[:PIXELS]` (4 pixels of padding) and `flip`. Throws `Error` quoting the text.
Augmentation parse_augmentation(std::string_view text);

/// Writes the augmented `image` (both C, H, W and dense, not overlapping) to `out`. The result is a pure
/// function of the arguments: crop and flip are drawn from (seed, epoch, sample), so neither threads nor
/// order matter.
void augment(std::span<const std::uint8_t> image, const Shape& shape, const Augmentation& augmentation,
             std::uint64_t seed, std::int64_t epoch, std::int64_t sample, std::span<std::uint8_t> out);

}  // namespace swapadvisor
