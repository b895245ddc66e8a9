#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/train/image_file.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

// After <cstdio>, which it needs and does not include.
#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

#include <algorithm>

namespace swapadvisor {
namespace {

constexpr std::int64_t largest_file = std::int64_t{256} << 20;
constexpr std::int64_t most_pixels = 100'000'000;

// Both libraries report errors by a call that must not return. They are written in C, so nothing may be
// thrown through them: the calls jump back to where they were made from. No object with a destructor may live
// in between.

void check_size(std::int64_t width, std::int64_t height, const std::string& source) {
  if (width < 1 || height < 1) fail("'{}' is an image of {}×{} pixels", source, width, height);
  if (width > most_pixels / height)
    fail("'{}' is an image of {}×{} pixels, more than {}", source, width, height, most_pixels);
}

/// An error handler of libjpeg that jumps.
struct JpegErrors {
  jpeg_error_mgr manager;  // first: libjpeg hands back its address
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave_jpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->manager.format_message(info, errors->message);
  std::longjmp(errors->back, 1);
}

/// Some files of well-known data sets have bytes too many or odd markers, which cost no pixel; the other
/// warnings mean that pixels are lost.
void warn_jpeg(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  const bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM ||
                        code == JWRN_TOO_MUCH_DATA || code == JWRN_JFIF_MAJOR;
  if (!harmless) leave_jpeg(info);
}

/// Adobe's programs store the inks inverted, and say that they made the file.
void cmyk_to_rgb(const std::uint8_t* from, std::uint8_t* to, std::int64_t pixels, bool inverted) {
  for (std::int64_t i = 0; i < pixels; ++i, from += 4, to += 3)
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? from[c] : 255 - from[c], black = inverted ? from[3] : 255 - from[3];
      to[c] = static_cast<std::uint8_t>((ink * black + 127) / 255);
    }
}

bool start_jpeg(jpeg_decompress_struct& info, JpegErrors& errors, std::string_view bytes) {
  if (setjmp(errors.back) != 0) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()),
               static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&info, TRUE);
  const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  return true;
}

/// `row` has room for a row of four channels.
bool read_jpeg(jpeg_decompress_struct& info, JpegErrors& errors, std::uint8_t* row, std::uint8_t* pixels) {
  if (setjmp(errors.back) != 0) return false;
  jpeg_start_decompress(&info);
  const auto width = static_cast<std::int64_t>(info.output_width);
  while (info.output_scanline < info.output_height) {
    std::uint8_t* to = pixels + 3 * width * static_cast<std::int64_t>(info.output_scanline);
    const bool inks = info.out_color_space == JCS_CMYK;
    JSAMPROW target = inks ? row : to;
    jpeg_read_scanlines(&info, &target, 1);
    if (inks) cmyk_to_rgb(row, to, width, info.saw_Adobe_marker != 0);
  }
  jpeg_finish_decompress(&info);
  return true;
}

RgbImage decode_jpeg(std::string_view bytes, const std::string& source) {
  struct Decoder {
    jpeg_decompress_struct info{};
    JpegErrors errors{};
    ~Decoder() { jpeg_destroy_decompress(&info); }
  } decoder;
  decoder.info.err = jpeg_std_error(&decoder.errors.manager);
  decoder.errors.manager.error_exit = leave_jpeg;
  decoder.errors.manager.emit_message = warn_jpeg;
  const auto refuse = [&] { fail("'{}' cannot be decoded: {}", source, decoder.errors.message); };
  if (!start_jpeg(decoder.info, decoder.errors, bytes)) refuse();
  RgbImage image{static_cast<std::int64_t>(decoder.info.image_width),
                 static_cast<std::int64_t>(decoder.info.image_height),
                 {}};
  check_size(image.width, image.height, source);
  image.pixels.resize(static_cast<std::size_t>(3 * image.width * image.height));
  std::vector<std::uint8_t> row(static_cast<std::size_t>(4 * image.width));
  if (!read_jpeg(decoder.info, decoder.errors, row.data(), image.pixels.data())) refuse();
  return image;
}

/// What libpng's callbacks know.
struct PngState {
  std::string_view rest;
  std::jmp_buf back;
  char message[256];
};

[[noreturn]] void leave_png(png_structp png, png_const_charp message) {
  auto* state = static_cast<PngState*>(png_get_error_ptr(png));
  std::snprintf(state->message, sizeof state->message, "%s", message);
  std::longjmp(state->back, 1);
}

void ignore_png(png_structp, png_const_charp) {}

void feed_png(png_structp png, png_bytep to, std::size_t size) {
  auto* state = static_cast<PngState*>(png_get_io_ptr(png));
  if (state->rest.size() < size) leave_png(png, "the file ends too early");
  std::memcpy(to, state->rest.data(), size);
  state->rest.remove_prefix(size);
}

/// Header, and conversions that leave 8-bit RGB. Returns the passes; 0: an error.
int start_png(png_structp png, png_infop info, PngState& state) {
  if (setjmp(state.back) != 0) return 0;
  png_set_read_fn(png, &state, feed_png);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
  png_read_info(png, info);
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return passes;
}

bool read_png(png_structp png, PngState& state, int passes, std::int64_t height, std::size_t row_bytes,
              std::uint8_t* pixels) {
  if (setjmp(state.back) != 0) return false;
  for (int pass = 0; pass < passes; ++pass)
    for (std::int64_t y = 0; y < height; ++y)
      png_read_row(png, pixels + static_cast<std::size_t>(y) * row_bytes, nullptr);
  png_read_end(png, nullptr);
  return true;
}

RgbImage decode_png(std::string_view bytes, const std::string& source) {
  PngState state{};
  state.rest = bytes;
  struct Decoder {
    png_structp png = nullptr;
    png_infop info = nullptr;
    ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
  } decoder;
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, leave_png, ignore_png);
  if (decoder.png) decoder.info = png_create_info_struct(decoder.png);
  if (!decoder.info) fail("'{}': cannot start libpng", source);
  const auto refuse = [&] { fail("'{}' cannot be decoded: {}", source, state.message); };
  const int passes = start_png(decoder.png, decoder.info, state);
  if (passes == 0) refuse();
  RgbImage image{
      png_get_image_width(decoder.png, decoder.info), png_get_image_height(decoder.png, decoder.info), {}};
  check_size(image.width, image.height, source);
  const std::size_t row_bytes = png_get_rowbytes(decoder.png, decoder.info);
  SWAPADVISOR_ASSERT(row_bytes == static_cast<std::size_t>(3 * image.width), "{} bytes for {} pixels",
                     row_bytes, image.width);
  image.pixels.resize(row_bytes * static_cast<std::size_t>(image.height));
  if (!read_png(decoder.png, state, passes, image.height, row_bytes, image.pixels.data())) refuse();
  return image;
}

}  // namespace

RgbImage decode_image(std::string_view bytes, const std::string& source) {
  if (bytes.starts_with("\xff\xd8\xff")) return decode_jpeg(bytes, source);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(bytes, source);
  if (bytes.empty()) fail("'{}' is empty, expected a JPEG or PNG image", source);
  fail("'{}' is neither a JPEG nor a PNG image", source);
}

RgbImage read_image(const std::string& path) {
  return decode_image(read_file(path, largest_file), path);
}

}  // namespace swapadvisor
