#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/synthetic.h>

#include <cmath>
#include <set>

#include "temporary_folder.h"

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The pixels as a string, which orders and compares.
std::string key_of(const std::vector<std::uint8_t>& pixels) {
  return {pixels.begin(), pixels.end()};
}

std::vector<std::uint8_t> image_of(const ImageDataset& dataset, std::int64_t index) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(dataset.image_bytes()));
  dataset.image(index, pixels);
  return pixels;
}

DatasetOptions small(std::uint64_t seed = 0) {
  DatasetOptions options;
  options.size = 500;
  options.image_shape = {3, 7, 5};
  options.classes = 4;
  options.seed = seed;
  return options;
}

TEST(SyntheticTest, IsAPureFunctionOfSeedSplitAndIndex) {
  const auto a = make_synthetic(Split::train, small()), b = make_synthetic(Split::train, small());
  const auto other_seed = make_synthetic(Split::train, small(1)),
             other_split = make_synthetic(Split::test, small());
  std::set<std::string> images;
  for (std::int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(image_of(*a, i), image_of(*b, i));
    EXPECT_EQ(a->label(i), b->label(i));
    images.insert(key_of(image_of(*a, i)));
    images.insert(key_of(image_of(*other_seed, i)));
    images.insert(key_of(image_of(*other_split, i)));
  }
  EXPECT_EQ(images.size(), 300u);
}

TEST(SyntheticTest, LabelsCoverTheClasses) {
  const auto data = make_synthetic(Split::train, small());
  std::vector<int> counts(4);
  for (std::int64_t i = 0; i < data->size(); ++i) ++counts.at(static_cast<std::size_t>(data->label(i)));
  for (int count : counts) EXPECT_NEAR(count, 125, 50);
}

TEST(SyntheticTest, PixelsHaveTheStatedMeanAndDeviation) {
  DatasetOptions options = small();
  options.classes = 500;  // many patterns: their own means even out
  const auto data = make_synthetic(Split::train, options);
  double sum = 0, squares = 0, count = 0;
  for (std::int64_t i = 0; i < data->size(); ++i)
    for (std::uint8_t pixel : image_of(*data, i)) {
      sum += pixel / 255.0;
      squares += pixel / 255.0 * (pixel / 255.0);
      ++count;
    }
  ASSERT_EQ(data->mean().size(), 3u);
  EXPECT_NEAR(sum / count, data->mean()[0], 0.005);
  EXPECT_NEAR(std::sqrt(squares / count - sum / count * sum / count), data->deviation()[0], 0.005);
}

// A class mean learned from one split tells the classes of the other.
TEST(SyntheticTest, LabelsCanBeLearned) {
  const auto train = make_synthetic(Split::train, small()), test = make_synthetic(Split::test, small());
  std::vector<std::vector<double>> means(4, std::vector<double>(105));
  std::vector<double> counts(4);
  for (std::int64_t i = 0; i < train->size(); ++i) {
    const auto label = static_cast<std::size_t>(train->label(i));
    const auto pixels = image_of(*train, i);
    for (std::size_t p = 0; p < pixels.size(); ++p) means[label][p] += pixels[p];
    ++counts[label];
  }
  int right = 0;
  for (std::int64_t i = 0; i < test->size(); ++i) {
    const auto pixels = image_of(*test, i);
    std::vector<double> distances(4);
    for (std::size_t c = 0; c < 4; ++c)
      for (std::size_t p = 0; p < pixels.size(); ++p)
        distances[c] += std::pow(means[c][p] / counts[c] - pixels[p], 2);
    const auto best = std::min_element(distances.begin(), distances.end()) - distances.begin();
    right += best == test->label(i);
  }
  EXPECT_GT(right, 450);
}

TEST(SyntheticTest, SizeBeyond32Bits) {
  DatasetOptions options = small();
  options.size = std::int64_t{1} << 40;
  const auto data = make_synthetic(Split::train, options);
  EXPECT_NE(image_of(*data, 5), image_of(*data, (std::int64_t{1} << 39) + 5));
}

TEST(SyntheticTest, RefusesOptionsOutOfRange) {
  const auto error_with = [](auto change) {
    DatasetOptions options = small();
    change(options);
    return message_of<Error>([&] { make_synthetic(Split::train, options); });
  };
  EXPECT_THAT(error_with([](auto& o) { o.size = 0; }), HasSubstr("at least one sample, got 0"));
  EXPECT_THAT(error_with([](auto& o) { o.classes = -1; }), HasSubstr("at least one class, got -1"));
  EXPECT_THAT(error_with([](auto& o) { o.image_shape = {3, 0, 5}; }), HasSubstr("got [3, 0, 5]"));
  EXPECT_THAT(error_with([](auto& o) { o.image_shape = {3, 5}; }), HasSubstr("got [3, 5]"));
  EXPECT_THAT(error_with([](auto& o) { o.image_shape = {1 << 20, 1 << 20, 1 << 20}; }), HasSubstr("exceed"));
}

TEST(DatasetTest, OpensByKindAndListsTheKinds) {
  EXPECT_EQ(open_dataset("synthetic", "", Split::train, small())->size(), 500);
  EXPECT_THAT(
      message_of<Error>([] { open_dataset("mnits", "x", Split::train); }),
      AllOf(HasSubstr("'mnits'"), HasSubstr("mnist, cifar10, cifar100, imagefolder, text, synthetic")));
}

}  // namespace
}  // namespace swapadvisor
