// Image files, decoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// Red, green and blue of every pixel, row by row.
struct RgbImage {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

/// Decodes a JPEG or PNG file by what its bytes say, whatever its name. Grey becomes RGB, as do palettes,
/// CMYK and YCCK; 16 bits become 8; transparency is dropped. `source` is what messages call the file. Throws
/// `Error` naming it for any other kind of file, for data that are corrupt or truncated, and for more than
/// 100 million pixels.
RgbImage decode_image(std::string_view bytes, const std::string& source);

/// The same from a file.
RgbImage read_image(const std::string& path);

}  // namespace swapadvisor
