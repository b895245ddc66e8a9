#include <image_files.h>
#include <jpeglib.h>
#include <png.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace swapadvisor {

std::string jpeg_bytes(int width, int height, JpegKind kind, const std::vector<std::uint8_t>& pixels) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);  // ends the process: a test that cannot make its files is broken
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  const bool inks = kind == JpegKind::cmyk || kind == JpegKind::ycck;
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = kind == JpegKind::grey ? 1 : inks ? 4 : 3;
  info.in_color_space = kind == JpegKind::grey ? JCS_GRAYSCALE : inks ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  if (kind == JpegKind::ycck) jpeg_set_colorspace(&info, JCS_YCCK);
  jpeg_set_quality(&info, 100, TRUE);
  for (int c = 0; c < info.num_components; ++c)
    info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row =
        const_cast<JSAMPROW>(pixels.data()) + static_cast<std::size_t>(info.next_scanline) *
                                                  static_cast<std::size_t>(width * info.input_components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string bytes(reinterpret_cast<char*>(memory), size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return bytes;
}

std::string png_bytes(int width, int height, const PngKind& kind, const std::vector<std::uint8_t>& rows) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp p, png_bytep data, std::size_t size) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(data), size);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), kind.bit_depth,
               kind.color_type, kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  if (kind.color_type == PNG_COLOR_TYPE_PALETTE) {
    for (int i = 0; i < 16; ++i)
      palette.push_back(
          {static_cast<png_byte>(16 * i), static_cast<png_byte>(255 - 16 * i), static_cast<png_byte>(i)});
    const png_byte alpha = 0;
    png_set_PLTE(png, info, palette.data(), 16);
    png_set_tRNS(png, info, &alpha, 1, nullptr);
  }
  png_write_info(png, info);
  const std::size_t row_bytes = png_get_rowbytes(png, info);
  if (rows.size() != row_bytes * static_cast<std::size_t>(height))
    throw std::runtime_error("png_bytes: wrong rows");
  std::vector<png_bytep> pointers;
  for (int y = 0; y < height; ++y)
    pointers.push_back(const_cast<png_bytep>(rows.data()) + static_cast<std::size_t>(y) * row_bytes);
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

std::string plain_png(int side, std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  std::vector<std::uint8_t> rows;
  for (int i = 0; i < side * side; ++i) rows.insert(rows.end(), {red, green, blue});
  return png_bytes(side, side, {}, rows);
}

}  // namespace swapadvisor
