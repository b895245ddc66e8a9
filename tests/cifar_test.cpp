// CIFAR-10 and CIFAR-100 from small files in the real format.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/cifar.h>

#include <filesystem>

#include "temporary_folder.h"

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int pixels = 3072;

/// Pixel i of the record whose last label is `label`.
std::uint8_t pixel(int label, int i) {
  return static_cast<std::uint8_t>(label * 7 + i * 5 + i / 1024);
}

/// One record; CIFAR-100 has a coarse label before the fine one.
std::string record(const std::vector<int>& labels) {
  std::string bytes;
  for (int label : labels) bytes += static_cast<char>(label);
  for (int i = 0; i < pixels; ++i) bytes += static_cast<char>(pixel(labels.back(), i));
  return bytes;
}

/// Batches 1 to 5 with 1 to 5 records, labelled 0, 1, 2, … 9 and again from 0.
void write_cifar10(const std::string& folder) {
  int label = 0;
  for (int batch = 1; batch <= 5; ++batch) {
    std::string bytes;
    for (int i = 0; i < batch; ++i) bytes += record({label++ % 10});
    std::ofstream(folder + "/data_batch_" + std::to_string(batch) + ".bin", std::ios::binary) << bytes;
  }
  std::ofstream(folder + "/test_batch.bin", std::ios::binary) << record({8}) << record({3});
}

void expect_image(const ImageDataset& data, std::int64_t index, int label) {
  EXPECT_EQ(data.label(index), label) << index;
  std::vector<std::uint8_t> image(pixels);
  data.image(index, image);
  for (int i = 0; i < pixels; ++i)
    ASSERT_EQ(image[static_cast<std::size_t>(i)], pixel(label, i)) << index << " " << i;
}

void expect_cifar10(const std::string& folder) {
  const auto train = open_cifar(Cifar::cifar10, folder, Split::train),
             test = open_cifar(Cifar::cifar10, folder, Split::test);
  EXPECT_EQ(train->size(), 15);
  EXPECT_EQ(train->image_shape(), (Shape{3, 32, 32}));
  EXPECT_EQ(train->classes(), 10);
  EXPECT_EQ(train->mean().size(), 3u);
  EXPECT_EQ(train->deviation().size(), 3u);
  for (int i = 0; i < 15; ++i) expect_image(*train, i, i % 10);
  ASSERT_EQ(test->size(), 2);
  expect_image(*test, 0, 8);
  expect_image(*test, 1, 3);
}

TEST(CifarTest, ReadsTheFiveBatchesAndTheTestBatch) {
  TemporaryFolder folder;
  write_cifar10(folder.path());
  expect_cifar10(folder.path());
}

TEST(CifarTest, FindsTheFolderOfTheArchive) {
  TemporaryFolder folder;
  const std::string inner = folder.path("cifar-10-batches-bin");
  std::filesystem::create_directory(inner);
  write_cifar10(inner);
  expect_cifar10(folder.path());
}

TEST(CifarTest, Cifar100HasFineLabels) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("cifar-100-binary"));
  folder.write("cifar-100-binary/train.bin", record({19, 99}) + record({0, 42}) + record({3, 0}));
  folder.write("cifar-100-binary/test.bin", record({11, 77}));
  const auto train = open_cifar(Cifar::cifar100, folder.path(), Split::train),
             test = open_cifar(Cifar::cifar100, folder.path(), Split::test);
  ASSERT_EQ(train->size(), 3);
  EXPECT_EQ(train->classes(), 100);
  expect_image(*train, 0, 99);
  expect_image(*train, 1, 42);
  expect_image(*train, 2, 0);
  ASSERT_EQ(test->size(), 1);
  expect_image(*test, 0, 77);
}

std::string error_of(const TemporaryFolder& folder, Cifar kind = Cifar::cifar10, Split split = Split::train) {
  return message_of<Error>([&] { open_cifar(kind, folder.path(), split); });
}

TEST(CifarTest, NamesWhatIsMissing) {
  TemporaryFolder folder;
  EXPECT_THAT(error_of(folder), AllOf(HasSubstr(folder.path()), HasSubstr("'data_batch_1.bin'"),
                                      HasSubstr("'cifar-10-batches-bin/data_batch_1.bin'")));
  EXPECT_THAT(error_of(folder, Cifar::cifar100, Split::test),
              AllOf(HasSubstr("CIFAR-100"), HasSubstr("'cifar-100-binary/test.bin'")));
  write_cifar10(folder.path());
  std::filesystem::remove(folder.path("data_batch_4.bin"));
  EXPECT_THAT(error_of(folder), HasSubstr(folder.path("data_batch_4.bin")));
  EXPECT_THAT(message_of<Error>([&] { open_cifar(Cifar::cifar10, folder.path("absent"), Split::train); }),
              HasSubstr("absent' is not a directory"));
}

TEST(CifarTest, RefusesTruncatedAndEmptyFiles) {
  TemporaryFolder folder;
  write_cifar10(folder.path());
  const std::string whole = record({1}) + record({2});
  const std::string file = folder.write("data_batch_3.bin", whole.substr(0, whole.size() - 73));
  EXPECT_THAT(error_of(folder),
              AllOf(HasSubstr("'" + file + "' is truncated"), HasSubstr("it has 6073 bytes"),
                    HasSubstr("1 records of 3073 bytes leave 3000 over")));
  folder.write("data_batch_3.bin", "");
  EXPECT_THAT(error_of(folder), HasSubstr("data_batch_3.bin' is empty"));
  // CIFAR-100's records are one byte longer.
  folder.write("train.bin", record({1}));
  EXPECT_THAT(error_of(folder, Cifar::cifar100), HasSubstr("records of 3074 bytes leave 3073 over"));
}

TEST(CifarTest, DoubtsFilesCutBetweenTwoRecords) {
  TemporaryFolder folder;
  std::string whole;
  for (int i = 0; i < 10000; ++i) {
    whole += static_cast<char>(i % 10);
    whole.append(pixels, 'x');
  }
  write_cifar10(folder.path());
  folder.write("test_batch.bin", whole);
  const auto doubt = [&](Split split, Cifar kind = Cifar::cifar10) {
    return open_cifar(kind, folder.path(), split)->doubt();
  };
  EXPECT_EQ(doubt(Split::test), "");
  folder.write("test_batch.bin", std::string_view(whole).substr(0, 9999 * 3073));
  EXPECT_THAT(doubt(Split::test),
              AllOf(HasSubstr(fmt::format("'{}'", folder.path())), HasSubstr("the 10000 records"),
                    HasSubstr("test_batch.bin has 9999;")));
  // The odd one is named, and nothing else.
  folder.write("data_batch_3.bin", whole);
  EXPECT_THAT(doubt(Split::train),
              HasSubstr("data_batch_1.bin has 1, data_batch_2.bin has 2, data_batch_4.bin has 4"));
  // The training file of CIFAR-100 has five times as many records as its test file.
  folder.write("train.bin", record({11, 77}));
  EXPECT_THAT(doubt(Split::train, Cifar::cifar100), HasSubstr("the 50000 records"));
}

TEST(CifarTest, RefusesLabelsOutOfRange) {
  TemporaryFolder folder;
  write_cifar10(folder.path());
  folder.write("data_batch_2.bin", record({9}) + record({10}));
  EXPECT_THAT(error_of(folder), HasSubstr("data_batch_2.bin': record 1 has label 10, expected 0 to 9"));
  folder.write("train.bin", record({19, 99}) + record({20, 5}));
  EXPECT_THAT(error_of(folder, Cifar::cifar100), HasSubstr("record 1 has coarse label 20, expected 0 to 19"));
  folder.write("train.bin", record({19, 100}));
  EXPECT_THAT(error_of(folder, Cifar::cifar100), HasSubstr("record 0 has fine label 100, expected 0 to 99"));
}

}  // namespace
}  // namespace swapadvisor
