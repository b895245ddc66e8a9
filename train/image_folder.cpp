#include <swapadvisor/core/rng.h>
#include <swapadvisor/train/image_file.h>
#include <swapadvisor/train/image_folder.h>
#include <swapadvisor/train/resize.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

namespace swapadvisor {
namespace {

namespace fs = std::filesystem;

/// Class names, and every image with its class.
struct Listing {
  std::vector<std::string> classes;
  std::vector<std::pair<std::string, std::int32_t>> images;
};

bool is_image_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

[[noreturn]] void fail_to_list(const fs::path& folder, const std::error_code& error) {
  fail("the folder '{}' cannot be read: {}", folder.string(), error.message());
}

std::vector<std::string> subfolders(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_directory() && !it->path().filename().string().starts_with('.'))
      names.push_back(it->path().filename().string());
  if (error) fail_to_list(folder, error);
  std::ranges::sort(names);
  return names;
}

/// Appends the images at any depth. `around`: the folders that `folder` is in; links back to them are not
/// followed.
void add_images(const fs::path& folder, std::vector<fs::path>& around, std::vector<std::string>& paths) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error) fail_to_list(folder, error);
  if (std::ranges::find(around, real) != around.end()) return;
  around.push_back(real);
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_directory())
      add_images(it->path(), around, paths);
    else if (is_image_name(it->path()) && it->is_regular_file())
      paths.push_back(it->path().string());
  if (error) fail_to_list(folder, error);
  around.pop_back();
}

std::vector<std::string> images_below(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> around;
  for (fs::path at = fs::canonical(folder, error); at.has_relative_path();) {
    at = at.parent_path();
    around.push_back(at);
  }
  std::vector<std::string> paths;
  add_images(folder, around, paths);
  if (paths.empty()) fail("the folder '{}' has no .jpg, .jpeg or .png file", folder.string());
  std::ranges::sort(paths);
  return paths;
}

/// `known`: the classes there may be; empty: those that there are.
Listing list(const fs::path& folder, std::vector<std::string> known) {
  const std::vector<std::string> found = subfolders(folder);
  if (found.empty()) fail("the folder '{}' has no folders of images, one a class", folder.string());
  Listing listing{known.empty() ? found : std::move(known), {}};
  for (const std::string& name : found) {
    const auto at = std::ranges::lower_bound(listing.classes, name);
    if (at == listing.classes.end() || *at != name)
      fail("the folder '{}' has class '{}', which the training images have not", folder.string(), name);
    for (std::string& path : images_below(folder / name))
      listing.images.emplace_back(std::move(path), static_cast<std::int32_t>(at - listing.classes.begin()));
  }
  return listing;
}

/// Of every class one image in twenty, in the order of hashes of the names, is for the test.
Listing part_of(const Listing& whole, Split split) {
  Listing part{whole.classes, {}};
  for (auto begin = whole.images.begin(); begin != whole.images.end();) {
    const auto end =
        std::find_if(begin, whole.images.end(), [&](const auto& i) { return i.second != begin->second; });
    std::vector<std::pair<std::uint64_t, std::string>> order;
    for (auto image = begin; image != end; ++image)
      order.emplace_back(hash_name(fs::path(image->first).filename().string()), image->first);
    std::ranges::sort(order);
    const std::size_t count = order.size(), tests = count < 2 ? 0 : std::max<std::size_t>(1, count / 20);
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < count; ++i)
      if ((i < tests) == (split == Split::test)) paths.push_back(order[i].second);
    std::ranges::sort(paths);
    for (std::string& path : paths) part.images.emplace_back(std::move(path), begin->second);
    begin = end;
  }
  return part;
}

/// The folder of the test split; empty if there is none.
fs::path test_folder(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : {"val", "test"})
    if (fs::is_directory(folder / name, ignored)) return folder / name;
  return {};
}

Listing list_split(const std::string& name, Split split) {
  const fs::path folder = name;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) fail("the image folder '{}' is not a directory", name);
  if (!fs::is_directory(folder / "train", ignored)) {
    Listing part = part_of(list(folder, {}), split);
    if (part.images.empty()) fail("the folder '{}' has too few images for a {} split", name, name_of(split));
    return part;
  }
  if (split == Split::train) return list(folder / "train", {});
  const fs::path test = test_folder(folder);
  if (test.empty()) fail("the folder '{}' has neither 'val' nor 'test' beside 'train'", name);
  return list(test, subfolders(folder / "train"));
}

std::vector<std::uint8_t> to_grey(const RgbImage& image) {
  std::vector<std::uint8_t> grey(image.pixels.size() / 3);
  for (std::size_t i = 0; i < grey.size(); ++i)
    grey[i] = static_cast<std::uint8_t>(
        (299 * image.pixels[3 * i] + 587 * image.pixels[3 * i + 1] + 114 * image.pixels[3 * i + 2] + 500) /
        1000);
  return grey;
}

class ImageFolder final : public ImageDataset {
 public:
  ImageFolder(Listing listing, const Shape& shape) : listing_(std::move(listing)), shape_(shape) {}

  std::int64_t size() const override { return std::ssize(listing_.images); }
  Shape image_shape() const override { return shape_; }
  int classes() const override { return static_cast<int>(listing_.classes.size()); }
  // Of ImageNet's training images; for grey ones the means over the channels.
  std::vector<double> mean() const override {
    return shape_[0] == 1 ? std::vector{0.449} : std::vector{0.485, 0.456, 0.406};
  }
  std::vector<double> deviation() const override {
    return shape_[0] == 1 ? std::vector{0.226} : std::vector{0.229, 0.224, 0.225};
  }

  void image(std::int64_t index, std::span<std::uint8_t> out) const override {
    with_image(index, [&](const ImageView& image) {
      // The part of the image that is left after scaling its shorter side to 8/7 of the size.
      const std::int64_t side = std::max<std::int64_t>(
          1, std::llround(static_cast<double>(std::min(image.width, image.height)) * 7 / 8));
      resize(image, {(image.width - side) / 2, (image.height - side) / 2, side, side}, shape_[1], shape_[2],
             out);
    });
  }
  std::int32_t label(std::int64_t index) const override { return listing_.images[position(index)].second; }

  void read(std::int64_t index, const SampleDraw& draw,
            std::span<const std::span<std::byte>> out) const override {
    if (!draw.augmentation.resized_crop) return ImageDataset::read(index, draw, out);
    const std::span pixels(reinterpret_cast<std::uint8_t*>(out[0].data()), out[0].size());
    with_image(index, [&](const ImageView& image) {
      resize(image, random_crop_box(image.width, image.height, draw.seed, draw.epoch, index), shape_[1],
             shape_[2], pixels);
    });
    if (draw.augmentation.horizontal_flip && draws_flip(draw.seed, draw.epoch, index))
      for (std::size_t at = 0; at < pixels.size(); at += static_cast<std::size_t>(shape_[2]))
        std::ranges::reverse(pixels.subspan(at, static_cast<std::size_t>(shape_[2])));
    const std::int32_t own = label(index);
    std::memcpy(out[1].data(), &own, sizeof own);
  }

 private:
  std::size_t position(std::int64_t index) const {
    SWAPADVISOR_ASSERT(index >= 0 && index < size(), "sample {} of {}", index, size());
    return static_cast<std::size_t>(index);
  }

  template <class F>
  void with_image(std::int64_t index, F use) const {
    const RgbImage image = read_image(listing_.images[position(index)].first);
    if (shape_[0] == 3) return use(ImageView::interleaved(image.pixels, 3, image.height, image.width));
    use(ImageView::interleaved(to_grey(image), 1, image.height, image.width));
  }

  Listing listing_;
  Shape shape_;
};

}  // namespace

std::unique_ptr<ImageDataset> open_image_folder(const std::string& folder, Split split,
                                                const DatasetOptions& options) {
  const Shape& shape = options.image_shape;
  if (shape[0] != 1 && shape[0] != 3)
    fail("image folders have images of 3 channels, or of 1 when they are wanted grey, not of {}", shape[0]);
  return std::make_unique<ImageFolder>(list_split(folder, split), shape);
}

bool has_test_images(const std::string& folder) {
  std::error_code ignored;
  return !fs::is_directory(fs::path(folder) / "train", ignored) || !test_folder(folder).empty();
}

}  // namespace swapadvisor
