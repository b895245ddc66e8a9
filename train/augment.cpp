#include <swapadvisor/core/rng.h>
#include <swapadvisor/train/augment.h>
#include <swapadvisor/train/resize.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace swapadvisor {
namespace {

// The source of output row `out`: `source` is shifted left by `shift` (may be negative), zeros come in.
void shift_row(std::span<const std::uint8_t> source, std::int64_t shift, std::span<std::uint8_t> out) {
  const auto width = static_cast<std::int64_t>(out.size());
  const std::int64_t first = std::clamp<std::int64_t>(-shift, 0, width);
  const std::int64_t last = std::clamp<std::int64_t>(width - shift, first, width);
  std::fill(out.begin(), out.begin() + first, std::uint8_t{0});
  if (last > first) std::copy_n(source.begin() + first + shift, last - first, out.begin() + first);
  std::fill(out.begin() + last, out.end(), std::uint8_t{0});
}

int parse_padding(std::string_view item, std::string_view text) {
  if (item == "crop") return 4;
  int padding = 0;
  const std::string_view digits = item.substr(5);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), padding);
  if (error != std::errc() || end != digits.data() + digits.size() || padding < 1 || padding > 1024)
    fail("augmentation '{}': a crop takes 1 to 1024 pixels of padding, got '{}'", text, digits);
  return padding;
}

}  // namespace

Augmentation parse_augmentation(std::string_view text) {
  Augmentation parsed;
  if (text == "none") return parsed;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (item == "flip")
      parsed.horizontal_flip = true;
    else if (item == "resized-crop")
      parsed.resized_crop = true;
    else if (item == "crop" || item.starts_with("crop:"))
      parsed.crop_padding = parse_padding(item, text);
    else
      fail("unknown augmentation '{}' in '{}': expected none, crop[:PIXELS], resized-crop or flip", item,
           text);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (parsed.resized_crop && parsed.crop_padding > 0)
    fail("augmentation '{}': crop and resized-crop exclude each other", text);
  return parsed;
}

CropBox random_crop_box(std::int64_t width, std::int64_t height, std::uint64_t seed, std::int64_t epoch,
                        std::int64_t sample) {
  const auto e = static_cast<std::uint64_t>(epoch);
  const RandomStream random{seed ^ hash_name("augment.resized-crop"), static_cast<std::uint32_t>(e >> 32),
                            static_cast<std::uint32_t>(e)};
  constexpr std::uint64_t tries = 10, draws = 4;
  const double area = static_cast<double>(width) * static_cast<double>(height);
  for (std::uint64_t i = 0; i < tries; ++i) {
    const std::uint64_t at = (static_cast<std::uint64_t>(sample) * tries + i) * draws;
    const double part = area * (0.08 + 0.92 * random.uniform(at));
    const double ratio = std::exp((2 * random.uniform(at + 1) - 1) * std::log(4.0 / 3));
    const std::int64_t w = std::llround(std::sqrt(part * ratio)), h = std::llround(std::sqrt(part / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    return {random.below(at + 2, static_cast<std::uint32_t>(width - w + 1)),
            random.below(at + 3, static_cast<std::uint32_t>(height - h + 1)), w, h};
  }
  // The largest box in the middle whose ratio is in range.
  const double most = 4.0 / 3, ratio = static_cast<double>(width) / static_cast<double>(height);
  CropBox box{0, 0, width, height};
  if (ratio < 1 / most)
    box.height = std::max<std::int64_t>(1, std::llround(static_cast<double>(width) * most));
  if (ratio > most) box.width = std::max<std::int64_t>(1, std::llround(static_cast<double>(height) * most));
  box.x = (width - box.width) / 2;
  box.y = (height - box.height) / 2;
  return box;
}

namespace {

RandomStream augment_stream(std::uint64_t seed, std::int64_t epoch) {
  const auto e = static_cast<std::uint64_t>(epoch);
  return {seed ^ hash_name("augment"), static_cast<std::uint32_t>(e >> 32), static_cast<std::uint32_t>(e)};
}

void mirror_rows(std::span<std::uint8_t> image, std::int64_t width) {
  for (std::size_t at = 0; at < image.size(); at += static_cast<std::size_t>(width))
    std::ranges::reverse(image.subspan(at, static_cast<std::size_t>(width)));
}

}  // namespace

bool draws_flip(std::uint64_t seed, std::int64_t epoch, std::int64_t sample) {
  return (augment_stream(seed, epoch).bits(4 * static_cast<std::uint64_t>(sample) + 2) >> 31) != 0;
}

void augment(std::span<const std::uint8_t> image, const Shape& shape, const Augmentation& augmentation,
             std::uint64_t seed, std::int64_t epoch, std::int64_t sample, std::span<std::uint8_t> out) {
  SWAPADVISOR_ASSERT(shape.rank() == 3 && static_cast<std::int64_t>(image.size()) == shape.numel() &&
                         out.size() == image.size() && augmentation.crop_padding >= 0,
                     "augment {} bytes of shape {} into {}, padding {}", image.size(), to_string(shape),
                     out.size(), augmentation.crop_padding);
  const bool flip = augmentation.horizontal_flip && draws_flip(seed, epoch, sample);
  const std::int64_t height = shape[1], width = shape[2];
  if (augmentation.resized_crop) {
    resize(ImageView::planar(image, shape), random_crop_box(width, height, seed, epoch, sample), height,
           width, out);
    if (flip) mirror_rows(out, width);
    return;
  }
  const RandomStream random = augment_stream(seed, epoch);
  const std::uint64_t first_draw = 4 * static_cast<std::uint64_t>(sample);
  const std::int64_t padding = augmentation.crop_padding;
  const auto positions = static_cast<std::uint32_t>(2 * padding + 1);
  const std::int64_t down = random.below(first_draw, positions) - padding;
  const std::int64_t right = random.below(first_draw + 1, positions) - padding;

  for (std::int64_t row = 0; row < shape[0] * height; ++row) {
    const std::int64_t y = row % height + down;
    const auto to = out.subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
    if (y < 0 || y >= height) {
      std::fill(to.begin(), to.end(), std::uint8_t{0});
      continue;
    }
    shift_row(image.subspan(static_cast<std::size_t>((row + down) * width), to.size()), right, to);
    if (flip) std::reverse(to.begin(), to.end());
  }
}

}  // namespace swapadvisor
