// JPEG and PNG files for tests, made in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swapadvisor {

/// What the bytes of a made image stand for.
enum class JpegKind : std::uint8_t { grey, rgb, cmyk, ycck };

/// Quality 100, no subsampling. `pixels`: 1, 3 or 4 bytes each; inks as Adobe stores them, 255 for none.
std::string jpeg_bytes(int width, int height, JpegKind kind, const std::vector<std::uint8_t>& pixels);

struct PngKind {
  int color_type = 2;  ///< as PNG numbers them: 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGB and alpha
  int bit_depth = 8;
  bool interlaced = false;
};

/// `rows`: the packed bytes of all rows, 16-bit values big-endian. Palettes have the 16 colours (16 i, 255 −
/// 16 i, i) of which the first one is transparent.
std::string png_bytes(int width, int height, const PngKind& kind, const std::vector<std::uint8_t>& rows);

/// A square of one colour, as PNG.
std::string plain_png(int side, std::uint8_t red, std::uint8_t green, std::uint8_t blue);

}  // namespace swapadvisor
