#include <golden_file.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/resize.h>

#include <cstdlib>
#include <numeric>
#include <vector>

namespace swapadvisor {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::uint8_t formula(int x, int y) {
  return static_cast<std::uint8_t>((31 * x + 17 * y + x * y * 3 + (x ^ y) * 11) % 256);
}

TEST(Resize, AsPillow) {
  for (const auto& golden : golden_file("resize.json")) {
    const int width = golden["width"], height = golden["height"];
    Bytes image;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) image.push_back(formula(x, y));
    const auto box = golden["box"].get<std::vector<std::int64_t>>(),
               size = golden["size"].get<std::vector<std::int64_t>>();
    Bytes out(static_cast<std::size_t>(size[0] * size[1]));
    resize(ImageView::planar(image, {1, height, width}), {box[0], box[1], box[2], box[3]}, size[1], size[0],
           out);
    const auto expected = golden["pixels"].get<std::vector<int>>();
    // Pillow has weights of 22 bits.
    for (std::size_t i = 0; i < out.size(); ++i)
      EXPECT_LE(std::abs(int{out[i]} - expected[i]), 1) << width << " " << i;
  }
}

TEST(Resize, ChannelsInAnyOrder) {
  Bytes planar(3 * 6 * 5), interleaved(planar.size());
  std::iota(planar.begin(), planar.end(), std::uint8_t{9});
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < 30; ++i) interleaved[3 * i + c] = planar[30 * c + i];
  Bytes a(3 * 4 * 7), b(a.size());
  resize(ImageView::planar(planar, {3, 6, 5}), {1, 2, 3, 4}, 4, 7, a);
  resize(ImageView::interleaved(interleaved, 3, 6, 5), {1, 2, 3, 4}, 4, 7, b);
  EXPECT_EQ(a, b);
}

TEST(Resize, TheSameSizeIsACopy) {
  Bytes image(5 * 4), out(3 * 2);
  std::iota(image.begin(), image.end(), std::uint8_t{0});
  resize(ImageView::planar(image, {1, 4, 5}), {1, 1, 3, 2}, 2, 3, out);
  EXPECT_EQ(out, (Bytes{6, 7, 8, 11, 12, 13}));
}

}  // namespace
}  // namespace swapadvisor
