#include "stripes.h"

#include <swapadvisor/core/rng.h>

#include <cmath>
#include <numbers>

using namespace swapadvisor;

void Stripes::image(std::int64_t index, std::span<std::uint8_t> out) const {
  // Draws are numbered, so that every image can be made again, on any thread.
  const RandomStream random{hash_name(name_of(split_)), static_cast<std::uint32_t>(index)};
  const double direction = label(index) * std::numbers::pi / classes();
  const double wave = 0.8 + 0.8 * random.uniform(0), phase = 2 * std::numbers::pi * random.uniform(1);
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x) {
      const double along =
          std::cos(direction) * static_cast<double>(x) + std::sin(direction) * static_cast<double>(y);
      const auto pixel = static_cast<std::uint64_t>(y * side + x);
      const double grey =
          0.5 + 0.25 * std::sin(wave * along + phase) + 0.5 * (random.uniform(2 + pixel) - 0.5);
      out[pixel] = static_cast<std::uint8_t>(255 * grey);
    }
}
