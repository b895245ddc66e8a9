// Labelled image data sets: where the samples of training and evaluation come from.
#pragma once

#include <swapadvisor/core/shape.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// The two parts of a data set.
enum class Split : std::uint8_t { train, test };

/// "train" or "test".
constexpr std::string_view name_of(Split split) {
  return split == Split::train ? "train" : "test";
}

/// An indexed set of samples, each one uint8 image (C, H, W) with an int32 label. All images have one shape.
/// Immutable: const access is thread-safe.
class Dataset {
 public:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;  ///< at least 1
  virtual Shape image_shape() const = 0;  ///< C, H, W
  virtual int classes() const = 0;
  /// Per channel, of pixels scaled to [0, 1]: what a model subtracts and divides by.
  virtual std::vector<double> mean() const = 0;
  virtual std::vector<double> deviation() const = 0;
  /// Writes the `image_bytes()` bytes of image `index`. May throw `Error` where images are read on demand.
  virtual void image(std::int64_t index, std::span<std::uint8_t> out) const = 0;
  virtual std::int32_t label(std::int64_t index) const = 0;  ///< in [0, classes())

  /// A sentence for people if something about the files is unusual, though they can be used; else empty.
  virtual std::string doubt() const { return {}; }

  std::int64_t image_bytes() const { return image_shape().numel(); }
};

/// For kinds that make their samples up. A data set read from files ignores it.
struct DatasetOptions {
  std::int64_t size = 1024;      ///< samples of either split
  Shape image_shape{3, 32, 32};  ///< C, H, W
  int classes = 10;
  std::uint64_t seed = 0;
};

/// Names that `open_dataset` knows.
std::vector<std::string_view> dataset_kinds();

/// Opens `path` as a data set of `kind`. Throws `Error` for an unknown kind and for files that cannot be
/// believed.
std::unique_ptr<Dataset> open_dataset(std::string_view kind, const std::string& path, Split split,
                                      const DatasetOptions& options = {});

}  // namespace swapadvisor
