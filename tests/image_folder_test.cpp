#include <expect_error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <image_files.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/image_folder.h>
#include <swapadvisor/train/loader.h>
#include <temporary_folder.h>

#include <filesystem>
#include <set>

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Writes a file and the folders it lies in.
void put(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(folder.path(name)).parent_path());
  folder.write(name, bytes);
}

DatasetOptions sized(std::int64_t side, std::int64_t channels = 3) {
  DatasetOptions options;
  options.image_shape = {channels, side, side};
  return options;
}

std::vector<std::uint8_t> image_of(const ImageDataset& data, std::int64_t index) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(data.image_bytes()));
  data.image(index, pixels);
  return pixels;
}

/// Four classes of plain images: class c has `count` of them, of colour (60 c, 10 i, 7).
void write_plain(const TemporaryFolder& folder, const std::string& at, int count) {
  const char* names[] = {"ant", "bee", "cat", "dog"};
  for (int c = 0; c < 4; ++c)
    for (int i = 0; i < count; ++i)
      put(folder, fmt::format("{}{}/{}.png", at, names[c], i),
          plain_png(5 + i, static_cast<std::uint8_t>(60 * c), static_cast<std::uint8_t>(10 * i), 7));
}

TEST(ImageFolder, ReadsTrainAndValOfEveryClass) {
  const TemporaryFolder folder;
  write_plain(folder, "train/", 3);
  put(folder, "train/bee/more/deep.JPEG",
      jpeg_bytes(8, 8, JpegKind::rgb, std::vector<std::uint8_t>(192, 100)));
  put(folder, "train/bee/notes.txt", "no image");
  put(folder, "val/cat/one.png", plain_png(9, 1, 2, 3));
  const auto train = open_image_folder(folder.path(), Split::train, sized(4));
  ASSERT_EQ(train->size(), 13);
  EXPECT_EQ(train->classes(), 4);
  EXPECT_EQ(train->image_shape(), (Shape{3, 4, 4}));
  for (std::int64_t i : {std::int64_t{0}, std::int64_t{4}, std::int64_t{12}}) {
    const std::int64_t c = train->label(i);
    EXPECT_EQ(c, i == 0 ? 0 : i == 4 ? 1 : 3);
    const auto pixels = image_of(*train, i);
    EXPECT_THAT(std::vector(pixels.begin(), pixels.begin() + 16), testing::Each(60 * c));
    EXPECT_THAT(std::vector(pixels.begin() + 32, pixels.end()), testing::Each(7));
  }
  EXPECT_THAT(image_of(*train, 6), testing::Each(testing::AllOf(testing::Ge(98), testing::Le(102))));
  EXPECT_TRUE(has_test_images(folder.path()));
  const auto test = open_image_folder(folder.path(), Split::test, sized(4));
  ASSERT_EQ(test->size(), 1);
  EXPECT_EQ(test->classes(), 4);
  EXPECT_EQ(test->label(0), 2);
  std::filesystem::remove_all(folder.path("val"));
  EXPECT_FALSE(has_test_images(folder.path()));
  EXPECT_THAT(message_of<Error>([&] { open_image_folder(folder.path(), Split::test, sized(4)); }),
              HasSubstr("has neither 'val' nor 'test' beside 'train'"));
}

TEST(ImageFolder, WithoutTrainOneImageInTwentyOfEveryClassIsForTheTest) {
  const TemporaryFolder folder;
  write_plain(folder, "", 45);
  put(folder, "elk/only.png", plain_png(4, 1, 1, 1));
  const auto train = open_image_folder(folder.path(), Split::train, sized(2)),
             test = open_image_folder(folder.path(), Split::test, sized(2));
  EXPECT_EQ(train->size(), 4 * 43 + 1);
  EXPECT_EQ(test->size(), 4 * 2);
  EXPECT_EQ(test->classes(), 5);
  std::set<std::string> images;
  for (const auto* data : {train.get(), test.get()})
    for (std::int64_t i = 0; i < data->size(); ++i) {
      const auto pixels = image_of(*data, i);
      images.emplace(pixels.begin(), pixels.end());
    }
  // No image is in both: all colours differ, also as bytes.
  EXPECT_EQ(images.size(), 4u * 45 + 1);
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(test->label(i), i / 2);
}

TEST(ImageFolder, TheMiddleIsTakenWithoutAugmentation) {
  const TemporaryFolder folder;
  // 32×16, red in the middle 14×14 that 7/8 of the shorter side leave, blue around it.
  std::vector<std::uint8_t> rows;
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 32; ++x) {
      const bool middle = x >= 9 && x < 23 && y >= 1 && y < 15;
      rows.insert(rows.end(), {static_cast<std::uint8_t>(middle ? 200 : 0), 0,
                               static_cast<std::uint8_t>(middle ? 0 : 90)});
    }
  put(folder, "a/1.png", png_bytes(32, 16, {}, rows));
  put(folder, "a/2.png", png_bytes(32, 16, {}, rows));
  const auto data = open_image_folder(folder.path(), Split::train, sized(5));
  const auto pixels = image_of(*data, 0);
  EXPECT_THAT(std::vector(pixels.begin(), pixels.begin() + 25), testing::Each(200));
  EXPECT_THAT(std::vector(pixels.begin() + 25, pixels.end()), testing::Each(0));
  const auto grey = open_image_folder(folder.path(), Split::train, sized(5, 1));
  EXPECT_EQ(grey->mean().size(), 1u);
  EXPECT_THAT(image_of(*grey, 0), testing::Each((299 * 200 + 500) / 1000));
}

std::vector<Batch> batches(const Dataset& data, int threads, const std::string& augmentation) {
  LoaderOptions options;
  options.batch_size = 4;
  options.threads = threads;
  options.augmentation = parse_augmentation(augmentation);
  options.seed = 5;
  Loader loader(data, options, 0, 12);
  std::vector<Batch> all;
  for (Batch batch; loader.next(batch);) all.push_back(batch);
  return all;
}

TEST(ImageFolder, WorkersChangeNothingAndEpochsDiffer) {
  const TemporaryFolder folder;
  for (int i = 0; i < 8; ++i) {
    std::vector<std::uint8_t> rows;
    for (int p = 0; p < 20 * 30 * 3; ++p) rows.push_back(static_cast<std::uint8_t>(p * (i + 3) / 7));
    put(folder, fmt::format("{}/{}.png", i % 2 == 0 ? "a" : "b", i), png_bytes(20, 30, {}, rows));
  }
  const auto data = open_image_folder(folder.path(), Split::train, sized(6));
  ASSERT_EQ(data->size(), 6);
  for (const char* augmentation : {"none", "resized-crop,flip", "crop:2,flip"}) {
    const auto one = batches(*data, 1, augmentation);
    EXPECT_TRUE(one == batches(*data, 3, augmentation)) << augmentation;
    std::set<std::vector<std::byte>> images;
    for (const Batch& batch : one)
      for (std::size_t row = 0; row < 4; ++row)
        images.emplace(batch.arrays[0].bytes.begin() + static_cast<std::ptrdiff_t>(row * 108),
                       batch.arrays[0].bytes.begin() + static_cast<std::ptrdiff_t>((row + 1) * 108));
    if (augmentation == std::string("none"))
      EXPECT_LE(images.size(), 6u);
    else
      EXPECT_GE(images.size(), 30u) << augmentation;
  }
}

TEST(ImageFolder, LinksToFoldersAreFollowedButNotInCircles) {
  const TemporaryFolder folder;
  put(folder, "set/train/a/1.png", plain_png(3, 1, 2, 3));
  put(folder, "set/train/b/1.png", plain_png(3, 1, 2, 3));
  put(folder, "more/2.png", plain_png(3, 1, 2, 3));
  std::filesystem::create_directory_symlink(folder.path("more"), folder.path("set/train/a/more"));
  std::filesystem::create_directory_symlink("..", folder.path("set/train/a/up"));
  std::filesystem::create_directory_symlink(".", folder.path("more/here"));
  EXPECT_EQ(open_image_folder(folder.path("set"), Split::train, sized(4))->size(), 3);
}

TEST(ImageFolder, NamesWhatIsWrong) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& at, Split split = Split::train, std::int64_t channels = 3) {
    return message_of<Error>([&] { open_image_folder(folder.path(at), split, sized(4, channels)); });
  };
  EXPECT_THAT(error("none"), HasSubstr("is not a directory"));
  std::filesystem::create_directory(folder.path("bare"));
  EXPECT_THAT(error("bare"), AllOf(HasSubstr("bare'"), HasSubstr("has no folders of images")));
  std::filesystem::create_directories(folder.path("hollow/a"));
  EXPECT_THAT(error("hollow"), AllOf(HasSubstr("hollow/a'"), HasSubstr("has no .jpg, .jpeg or .png file")));
  put(folder, "set/train/a/1.png", plain_png(3, 1, 2, 3));
  put(folder, "set/val/z/1.png", plain_png(3, 1, 2, 3));
  EXPECT_THAT(error("set", Split::test), HasSubstr("has class 'z', which the training images have not"));
  EXPECT_THAT(error("set", Split::train, 4), HasSubstr("not of 4"));
  put(folder, "set/train/a/2.jpg",
      jpeg_bytes(20, 20, JpegKind::rgb, std::vector<std::uint8_t>(1200, 9)).substr(0, 400));
  const auto data = open_image_folder(folder.path("set"), Split::train, sized(4));
  LoaderOptions options;
  options.batch_size = 2;
  Loader loader(*data, options);
  Batch batch;
  EXPECT_THAT(message_of<Error>([&] { loader.next(batch); }),
              AllOf(HasSubstr("set/train/a/2.jpg"), HasSubstr("cannot be decoded")));
}

TEST(ImageFolder, TrainsFromTheCommandLine) {
  const TemporaryFolder folder;
  write_plain(folder, "", 20);
  const std::string data = folder.path();
  std::vector<const char*> argv{"swapadvisor",
                                "train",
                                "mlp",
                                "--dataset",
                                "imagefolder",
                                "--data",
                                data.c_str(),
                                "--image-size",
                                "8",
                                "--channels",
                                "3",
                                "--hidden",
                                "16",
                                "--layers",
                                "1",
                                "--batch-size",
                                "8",
                                "--epochs",
                                "12",
                                "--augment",
                                "resized-crop,flip",
                                "--optimizer",
                                "adam",
                                "--lr",
                                "0.01",
                                "--json"};
  testing::internal::CaptureStdout();
  const int code = run_command_line(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  const auto result = nlohmann::json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(code, 0);
  EXPECT_EQ(result["steps"], 12 * 9);  // 76 images
  EXPECT_GE(result["test_accuracy"], 0.75);
}

}  // namespace
}  // namespace swapadvisor
