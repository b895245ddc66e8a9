#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/mnist.h>

#include <numeric>

#include "idx_files.h"
#include "temporary_folder.h"

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const TemporaryFolder& folder, Split split = Split::train) {
  return message_of<Error>([&] { open_mnist(folder.path(), split); });
}

void write_split(const TemporaryFolder& folder, const std::string& labels,
                 const std::string& prefix = "train") {
  const auto count = static_cast<std::uint32_t>(labels.size());
  std::string pixels(4 * labels.size(), '\0');
  std::iota(pixels.begin(), pixels.end(), '\1');
  folder.write(prefix + "-images-idx3-ubyte", idx_bytes({count, 2, 2}, pixels));
  folder.write(prefix + "-labels-idx1-ubyte.gz", gzip(idx_bytes({count}, labels)));
}

TEST(MnistTest, ReadsImagesAndLabelsOfEachSplit) {
  TemporaryFolder folder;
  write_split(folder, {9, 0, 5});
  write_split(folder, {3}, "t10k");
  const auto train = open_mnist(folder.path(), Split::train), test = open_mnist(folder.path(), Split::test);
  EXPECT_EQ(train->size(), 3);
  EXPECT_EQ(train->image_shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(train->classes(), 10);
  EXPECT_EQ(train->mean().size(), 1u);
  EXPECT_EQ(train->deviation().size(), 1u);
  EXPECT_EQ(train->label(0), 9);
  EXPECT_EQ(train->label(2), 5);
  std::vector<std::uint8_t> pixels(4);
  train->image(1, pixels);
  EXPECT_EQ(pixels, (std::vector<std::uint8_t>{5, 6, 7, 8}));
  EXPECT_EQ(test->size(), 1);
  EXPECT_EQ(test->label(0), 3);
}

TEST(MnistTest, AcceptsTheNamesWithADot) {
  TemporaryFolder folder;
  folder.write("train-images.idx3-ubyte.gz", gzip(idx_bytes({1, 1, 1}, "p")));
  folder.write("train-labels.idx1-ubyte", idx_bytes({1}, "\7"));
  EXPECT_EQ(open_mnist(folder.path(), Split::train)->label(0), 7);
}

TEST(MnistTest, NamesWhatIsMissing) {
  TemporaryFolder folder;
  EXPECT_THAT(error_of(folder), AllOf(HasSubstr(folder.path()), HasSubstr("train-images-idx3-ubyte")));
  write_split(folder, {1});
  EXPECT_THAT(error_of(folder, Split::test), HasSubstr("t10k-images-idx3-ubyte"));
  EXPECT_THAT(message_of<Error>([&] { open_mnist(folder.path("absent"), Split::train); }),
              HasSubstr("absent' is not a directory"));
}

TEST(MnistTest, RefusesDifferentCounts) {
  TemporaryFolder folder;
  write_split(folder, {1, 2});
  folder.write("train-labels-idx1-ubyte.gz", gzip(idx_bytes({3}, "\1\2\3")));
  EXPECT_THAT(error_of(folder), AllOf(HasSubstr("has 2 images"), HasSubstr("has 3 labels")));
}

TEST(MnistTest, RefusesLabelsOutOfRange) {
  TemporaryFolder folder;
  write_split(folder, "\1\2\12\310");
  EXPECT_THAT(error_of(folder),
              AllOf(HasSubstr("train-labels-idx1-ubyte.gz'"), HasSubstr("sample 2 has label 10")));
}

TEST(MnistTest, RefusesLabelsWhereImagesShouldBe) {
  TemporaryFolder folder;
  write_split(folder, {1});
  folder.write("train-images-idx3-ubyte", idx_bytes({1}, "\1"));
  EXPECT_THAT(error_of(folder), HasSubstr("0x00000801, not 0x00000803"));
}

// The bundled subset: sizes, and the first labels of the original database.
TEST(MnistTest, ReadsTheBundledSubset) {
  const auto tests = std::filesystem::path(SWAPADVISOR_TEST_DATA).parent_path();
  const std::string folder = (tests.parent_path() / "data" / "mnist").string();
  const auto train = open_mnist(folder, Split::train), test = open_mnist(folder, Split::test);
  EXPECT_EQ(train->size(), 10000);
  EXPECT_EQ(test->size(), 2000);
  EXPECT_EQ(train->image_shape(), (Shape{1, 28, 28}));
  std::vector<std::int32_t> first;
  for (int i = 0; i < 5; ++i) first.push_back(train->label(i));
  for (int i = 0; i < 5; ++i) first.push_back(test->label(i));
  EXPECT_EQ(first, (std::vector<std::int32_t>{5, 0, 4, 1, 9, 7, 2, 1, 0, 4}));
  // The mean that normalization subtracts is that of the images.
  std::vector<std::uint8_t> pixels(784);
  double sum = 0;
  for (std::int64_t i = 0; i < train->size(); ++i) {
    train->image(i, pixels);
    sum += std::accumulate(pixels.begin(), pixels.end(), 0.0);
  }
  EXPECT_NEAR(sum / 255 / 784 / 10000, train->mean()[0], 0.002);
}

}  // namespace
}  // namespace swapadvisor
