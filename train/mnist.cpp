#include <swapadvisor/train/idx.h>
#include <swapadvisor/train/mnist.h>

#include <algorithm>
#include <filesystem>

namespace swapadvisor {
namespace {

class Mnist : public ImageDataset {
 public:
  Mnist(IdxArray images, IdxArray labels) : images_(std::move(images)), labels_(std::move(labels)) {}

  std::int64_t size() const override { return labels_.dims[0]; }
  Shape image_shape() const override { return {1, images_.dims[1], images_.dims[2]}; }
  int classes() const override { return 10; }
  // Of the 60,000 training images.
  std::vector<double> mean() const override { return {0.1307}; }
  std::vector<double> deviation() const override { return {0.3081}; }

  void image(std::int64_t index, std::span<std::uint8_t> out) const override {
    check(index);
    const std::int64_t bytes = images_.dims[1] * images_.dims[2];
    SWAPADVISOR_ASSERT(static_cast<std::int64_t>(out.size()) == bytes, "{} bytes for an image of {}",
                       out.size(), bytes);
    std::copy_n(images_.bytes.begin() + index * bytes, bytes, out.begin());
  }
  std::int32_t label(std::int64_t index) const override {
    check(index);
    return labels_.bytes[static_cast<std::size_t>(index)];
  }

 private:
  void check(std::int64_t index) const {
    SWAPADVISOR_ASSERT(index >= 0 && index < size(), "sample {} of {}", index, size());
  }

  IdxArray images_;
  IdxArray labels_;
};

// `stem` such as "train-images", `type` such as "idx3-ubyte".
std::string find_file(const std::string& folder, const std::string& stem, const std::string& type) {
  std::error_code ignored;
  for (const char* separator : {"-", "."})
    for (const char* suffix : {"", ".gz"}) {
      const std::filesystem::path path = std::filesystem::path(folder) / (stem + separator + type + suffix);
      if (std::filesystem::exists(path, ignored)) return path.string();
    }
  if (!std::filesystem::is_directory(folder, ignored))
    fail("the MNIST folder '{}' is not a directory", folder);
  fail("the MNIST folder '{0}' has neither '{1}-{2}' nor '{1}.{2}', with or without .gz", folder, stem, type);
}

}  // namespace

std::unique_ptr<ImageDataset> open_mnist(const std::string& folder, Split split) {
  const std::string prefix = split == Split::train ? "train" : "t10k";
  const std::string image_file = find_file(folder, prefix + "-images", "idx3-ubyte");
  const std::string label_file = find_file(folder, prefix + "-labels", "idx1-ubyte");
  IdxArray images = read_idx(image_file, 3), labels = read_idx(label_file, 1);
  if (images.dims[0] != labels.dims[0])
    fail("'{}' has {} images, but '{}' has {} labels", image_file, images.dims[0], label_file,
         labels.dims[0]);
  for (std::size_t i = 0; i < labels.bytes.size(); ++i)
    if (labels.bytes[i] > 9)
      fail("'{}': sample {} has label {}, expected 0 to 9", label_file, i, labels.bytes[i]);
  return std::make_unique<Mnist>(std::move(images), std::move(labels));
}

}  // namespace swapadvisor
