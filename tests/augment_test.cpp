#include <gtest/gtest.h>
#include <swapadvisor/train/augment.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace swapadvisor {
namespace {

using Image = std::vector<std::uint8_t>;

// The pixels as a string, which orders and compares.
std::string key_of(const Image& image) {
  return {image.begin(), image.end()};
}

Image counting(const Shape& shape) {
  Image image(static_cast<std::size_t>(shape.numel()));
  std::iota(image.begin(), image.end(), std::uint8_t{1});
  return image;
}

Image augmented(const Image& image, const Shape& shape, const Augmentation& augmentation, std::uint64_t seed,
                std::int64_t epoch, std::int64_t sample) {
  Image out(image.size(), 77);
  augment(image, shape, augmentation, seed, epoch, sample, out);
  return out;
}

// The image moved by (down, right), written the obvious way.
Image moved(const Image& image, const Shape& shape, std::int64_t down, std::int64_t right, bool flip) {
  Image out(image.size());
  const std::int64_t height = shape[1], width = shape[2];
  for (std::int64_t c = 0; c < shape[0]; ++c)
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t from_y = y + down, from_x = (flip ? width - 1 - x : x) + right;
        if (from_y < 0 || from_y >= height || from_x < 0 || from_x >= width) continue;
        out[static_cast<std::size_t>((c * height + y) * width + x)] =
            image[static_cast<std::size_t>((c * height + from_y) * width + from_x)];
      }
  return out;
}

TEST(AugmentTest, NothingByDefault) {
  const Shape shape{3, 4, 5};
  const Image image = counting(shape);
  EXPECT_FALSE(Augmentation{}.active());
  for (int sample = 0; sample < 20; ++sample) EXPECT_EQ(augmented(image, shape, {}, 1, 2, sample), image);
}

TEST(AugmentTest, EveryResultIsACropOrItsMirrorAndAllOccur) {
  const Shape shape{3, 4, 5};
  const Image image = counting(shape);
  std::map<std::string, int> expected;
  for (std::int64_t down = -2; down <= 2; ++down)
    for (std::int64_t right = -2; right <= 2; ++right)
      for (bool flip : {false, true}) expected[key_of(moved(image, shape, down, right, flip))] = 0;
  ASSERT_EQ(expected.size(), 50u);
  for (int sample = 0; sample < 5000; ++sample) {
    const auto found = expected.find(key_of(augmented(image, shape, {2, true}, 1, 0, sample)));
    ASSERT_NE(found, expected.end()) << sample;
    ++found->second;
  }
  for (const auto& [result, count] : expected) EXPECT_NEAR(count, 100, 60);
}

TEST(AugmentTest, PaddingLargerThanTheImage) {
  const Shape shape{1, 2, 3};
  const Image image = counting(shape);
  std::set<std::string> expected, got;
  for (std::int64_t down = -9; down <= 9; ++down)
    for (std::int64_t right = -9; right <= 9; ++right)
      expected.insert(key_of(moved(image, shape, down, right, false)));
  for (int sample = 0; sample < 5000; ++sample)
    got.insert(key_of(augmented(image, shape, {9, false}, 1, 0, sample)));
  EXPECT_EQ(got, expected);
}

TEST(AugmentTest, DependsOnSeedEpochAndSampleOnly) {
  const Shape shape{1, 9, 9};
  const Image image = counting(shape);
  const Augmentation augmentation{4, true};
  const auto sequence = [&](std::uint64_t seed, std::int64_t epoch) {
    std::vector<Image> all;
    for (int sample = 0; sample < 16; ++sample)
      all.push_back(augmented(image, shape, augmentation, seed, epoch, sample));
    return all;
  };
  EXPECT_EQ(sequence(1, 0), sequence(1, 0));
  EXPECT_NE(sequence(1, 0), sequence(2, 0));
  EXPECT_NE(sequence(1, 0), sequence(1, 1));
  EXPECT_NE(sequence(1, 1), sequence(1, (std::int64_t{1} << 32) + 1));
}

TEST(AugmentTest, ResizedCropsHaveTheStatedSharesAndRatios) {
  double smallest = 1, largest = 0, widest = 0, tallest = 9;
  std::set<std::int64_t> left;
  for (int sample = 0; sample < 4000; ++sample) {
    const CropBox box = random_crop_box(400, 300, 1, 2, sample);
    ASSERT_GE(box.x, 0);
    ASSERT_GE(box.y, 0);
    ASSERT_LE(box.x + box.width, 400);
    ASSERT_LE(box.y + box.height, 300);
    const double share = static_cast<double>(box.width * box.height) / (400 * 300);
    const double ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
    smallest = std::min(smallest, share);
    largest = std::max(largest, share);
    widest = std::max(widest, ratio);
    tallest = std::min(tallest, ratio);
    left.insert(box.x);
  }
  EXPECT_NEAR(smallest, 0.08, 0.01);
  EXPECT_GT(largest, 0.95);
  EXPECT_NEAR(widest, 4.0 / 3, 0.02);
  EXPECT_NEAR(tallest, 0.75, 0.02);
  EXPECT_GT(left.size(), 150u);
}

TEST(AugmentTest, ResizedCropsOfNarrowImagesAreInTheMiddle) {
  for (int sample = 0; sample < 20; ++sample) {
    const CropBox wide = random_crop_box(9000, 3, 1, 0, sample),
                  tall = random_crop_box(2, 5000, 1, 0, sample);
    EXPECT_EQ(wide.width, 4);
    EXPECT_EQ(wide.height, 3);
    EXPECT_EQ(wide.x, 4498);
    EXPECT_EQ(tall.width, 2);
    EXPECT_EQ(tall.height, 3);
    EXPECT_EQ(tall.y, 2498);
  }
  const CropBox one = random_crop_box(1, 1, 1, 0, 0);
  EXPECT_EQ(one.width * one.height, 1);
}

TEST(AugmentTest, ResizedCropKeepsAConstantImageAndMirrorsHalfOfTheOthers) {
  const Shape shape{3, 6, 9};
  const Augmentation augmentation{.horizontal_flip = true, .resized_crop = true};
  EXPECT_EQ(augmented(Image(162, 55), shape, augmentation, 1, 2, 3), Image(162, 55));
  Image slope;
  for (int i = 0; i < 162; ++i) slope.push_back(static_cast<std::uint8_t>(i % 9 * 20));
  int mirrored = 0;
  for (int sample = 0; sample < 400; ++sample) {
    const Image out = augmented(slope, shape, augmentation, 1, 0, sample);
    mirrored += out[0] > out[8];
    EXPECT_EQ(out[0] > out[8], draws_flip(1, 0, sample)) << sample;
  }
  EXPECT_NEAR(mirrored, 200, 50);
}

TEST(AugmentTest, ParsesLists) {
  EXPECT_TRUE(parse_augmentation("resized-crop,flip").resized_crop);
  EXPECT_TRUE(parse_augmentation("flip").horizontal_flip);
  EXPECT_EQ(parse_augmentation("crop:3").crop_padding, 3);
  EXPECT_THROW(parse_augmentation("crop,resized-crop"), Error);
  EXPECT_THROW(parse_augmentation("resized"), Error);
}

}  // namespace
}  // namespace swapadvisor
