#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <image_files.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/train/image_file.h>
#include <temporary_folder.h>

#include <cstdlib>

namespace swapadvisor {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

/// Smooth in every channel, so that JPEG keeps it.
Bytes smooth(int width, int height, int channels) {
  Bytes pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels.push_back(static_cast<std::uint8_t>(40 + 5 * x + (c % 2 == 0 ? 7 : -3) * y + 30 * c));
  return pixels;
}

void expect_near(const RgbImage& image, int width, int height, const Bytes& expected, int tolerance) {
  ASSERT_EQ(image.width, width);
  ASSERT_EQ(image.height, height);
  ASSERT_EQ(image.pixels.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_LE(std::abs(int{image.pixels[i]} - int{expected[i]}), tolerance) << i;
}

std::string error_of(std::string_view bytes) {
  return message_of<Error>([&] { decode_image(bytes, "photo"); });
}

TEST(ImageFile, JpegInColourAndGrey) {
  const Bytes rgb = smooth(11, 7, 3), grey = smooth(11, 7, 1);
  expect_near(decode_image(jpeg_bytes(11, 7, JpegKind::rgb, rgb), "photo"), 11, 7, rgb, 3);
  Bytes tripled;
  for (std::uint8_t v : grey) tripled.insert(tripled.end(), 3, v);
  expect_near(decode_image(jpeg_bytes(11, 7, JpegKind::grey, grey), "photo"), 11, 7, tripled, 2);
}

TEST(ImageFile, JpegInInks) {
  const Bytes inks = smooth(9, 6, 4);
  Bytes rgb;
  for (std::size_t i = 0; i < inks.size(); i += 4)
    for (std::size_t c = 0; c < 3; ++c)
      rgb.push_back(static_cast<std::uint8_t>((inks[i + c] * inks[i + 3] + 127) / 255));
  for (const JpegKind kind : {JpegKind::cmyk, JpegKind::ycck})
    expect_near(decode_image(jpeg_bytes(9, 6, kind, inks), "photo"), 9, 6, rgb, 5);
}

TEST(ImageFile, PngOfEveryKindIsExact) {
  for (const bool interlaced : {false, true}) {
    const Bytes rgb = smooth(13, 9, 3);
    EXPECT_EQ(decode_image(png_bytes(13, 9, {2, 8, interlaced}, rgb), "photo").pixels, rgb);
    // Alpha of any value is dropped, the low byte of 16 bits rounded away.
    Bytes rgba, deep, grey_alpha, tripled;
    for (std::size_t i = 0; i < rgb.size(); i += 3) {
      rgba.insert(rgba.end(), {rgb[i], rgb[i + 1], rgb[i + 2], static_cast<std::uint8_t>(i)});
      for (std::size_t c = 0; c < 3; ++c) deep.insert(deep.end(), {rgb[i + c], rgb[i + c]});
      grey_alpha.insert(grey_alpha.end(), {rgb[i], static_cast<std::uint8_t>(7 * i)});
      tripled.insert(tripled.end(), 3, rgb[i]);
    }
    EXPECT_EQ(decode_image(png_bytes(13, 9, {6, 8, interlaced}, rgba), "photo").pixels, rgb);
    EXPECT_EQ(decode_image(png_bytes(13, 9, {2, 16, interlaced}, deep), "photo").pixels, rgb);
    EXPECT_EQ(decode_image(png_bytes(13, 9, {4, 8, interlaced}, grey_alpha), "photo").pixels, tripled);
  }
}

TEST(ImageFile, PngWithFewBits) {
  // Two rows of eight pixels each.
  const auto decoded = [](const PngKind& kind, const Bytes& rows) {
    return decode_image(png_bytes(8, 2, kind, rows), "photo").pixels;
  };
  const Bytes one = decoded({0, 1}, {0b10110001, 0b00001111}), two = decoded({0, 2}, {0x1b, 0xe4, 0, 0xff}),
              four = decoded({0, 4}, {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}),
              colours = decoded({3, 4}, {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef});
  const int bits[] = {1, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1};
  const int pairs[] = {0, 1, 2, 3, 3, 2, 1, 0, 0, 0, 0, 0, 3, 3, 3, 3};
  for (std::size_t i = 0; i < 16; ++i) {
    const auto index = static_cast<int>(i);
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(one[3 * i + c], 255 * bits[i]);
      EXPECT_EQ(two[3 * i + c], 85 * pairs[i]);
      EXPECT_EQ(four[3 * i + c], 17 * index);
    }
    EXPECT_EQ(colours[3 * i], 16 * index);
    EXPECT_EQ(colours[3 * i + 1], 255 - 16 * index);
    EXPECT_EQ(colours[3 * i + 2], index);
  }
}

TEST(ImageFile, SixteenBitsAreRounded) {
  // 0x12ff is nearer to 0x13 of 255.
  EXPECT_EQ(decode_image(png_bytes(1, 1, {0, 16}, {0x12, 0xff}), "photo").pixels, (Bytes{0x13, 0x13, 0x13}));
}

TEST(ImageFile, CutFilesAreRefused) {
  const std::string jpeg = jpeg_bytes(40, 30, JpegKind::rgb, smooth(40, 30, 3));
  const std::string png = png_bytes(40, 30, {}, smooth(40, 30, 3));
  for (const std::string* whole : {&jpeg, &png})
    for (std::size_t size = 0; size + 2 < whole->size(); size += 1 + size / 40) {
      const std::string error = error_of(std::string_view(*whole).substr(0, size));
      EXPECT_THAT(error, HasSubstr("'photo'")) << size << " of " << whole->size();
    }
}

TEST(ImageFile, DamagedFilesAreRefusedOrDecoded) {
  const std::string jpeg = jpeg_bytes(24, 16, JpegKind::rgb, smooth(24, 16, 3));
  const std::string png = png_bytes(24, 16, {2, 8, true}, smooth(24, 16, 3));
  const RandomStream random{1, 2};
  int refused = 0;
  for (const std::string* whole : {&jpeg, &png})
    for (std::uint64_t i = 0; i < 400; ++i) {
      std::string damaged = *whole;
      damaged[random.below(3 * i, static_cast<std::uint32_t>(damaged.size()))] ^=
          static_cast<char>(1 + random.below(3 * i + 1, 255));
      try {
        const RgbImage image = decode_image(damaged, "photo");
        EXPECT_EQ(std::ssize(image.pixels), 3 * image.width * image.height);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("'photo'"));
        ++refused;
      }
    }
  EXPECT_GT(refused, 300);
}

TEST(ImageFile, HugeImagesAreRefusedByTheirHeader) {
  std::string jpeg = jpeg_bytes(8, 8, JpegKind::grey, smooth(8, 8, 1));
  const std::size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_EQ(error_of(jpeg), "'photo' is an image of 65500×65500 pixels, more than 100000000");
}

TEST(ImageFile, OtherFilesAreRefused) {
  EXPECT_EQ(error_of(""), "'photo' is empty, expected a JPEG or PNG image");
  EXPECT_EQ(error_of("GIF89a"), "'photo' is neither a JPEG nor a PNG image");
  EXPECT_THAT(message_of<Error>([] { read_image("/nowhere/a.png"); }), HasSubstr("/nowhere/a.png"));
}

}  // namespace
}  // namespace swapadvisor
