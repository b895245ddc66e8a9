// Data sets: where the samples of training and evaluation come from.
#pragma once

#include <swapadvisor/core/shape.h>
#include <swapadvisor/models/model.h>
#include <swapadvisor/train/augment.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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

/// An array that every sample has, under the name of the model's input or target that it is for.
struct Field {
  std::string name;
  DType dtype = DType::u8;
  Shape shape;               ///< of one sample, row major
  std::int64_t padding = 0;  ///< all elements of rows that are no samples; `ignored_label` for labels

  std::int64_t bytes() const { return shape.numel() * size_of(dtype); }
  friend bool operator==(const Field&, const Field&) = default;
};

/// What may differ between two readings of one sample.
struct SampleDraw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  Augmentation augmentation{};
};

/// What the data decide of a model; what is absent is the model's choice.
struct DataSizes {
  std::optional<std::int64_t> image_size{}, channels{}, classes{};
  std::optional<std::int64_t> vocab{};  ///< at least as many tokens
};

/// An indexed set of samples, each one an array per field. Immutable: const access is thread-safe.
class Dataset {
 public:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;  ///< at least 1
  virtual const std::vector<Field>& fields() const = 0;
  /// Writes sample `index`: `out` has one span per field, of its bytes and aligned for its elements. A pure
  /// function of the arguments. May throw `Error` where samples are read on demand.
  virtual void read(std::int64_t index, const SampleDraw& draw,
                    std::span<const std::span<std::byte>> out) const = 0;

  virtual DataSizes sizes() const { return {}; }
  /// Of images, per channel and of pixels scaled to [0, 1]: what a model subtracts and divides by. Else
  /// empty.
  virtual std::vector<double> mean() const { return {}; }
  virtual std::vector<double> deviation() const { return {}; }
  /// Bytes of text that one label stands for on average, where labels are tokens; else 0.
  virtual double bytes_per_label() const { return 0; }
  /// Tells data of the same size apart, where that takes no reading of files; else empty.
  virtual std::string fingerprint() const { return {}; }
  /// A sentence for people if something about the files is unusual, though they can be used; else empty.
  virtual std::string doubt() const { return {}; }

  std::int64_t sample_bytes() const;
};

/// Samples of one uint8 image (C, H, W), field "input", with an int32 label, field "target". All images have
/// one shape.
class ImageDataset : public Dataset {
 public:
  virtual Shape image_shape() const = 0;  ///< C, H, W
  virtual int classes() const = 0;
  std::vector<double> mean() const override = 0;
  std::vector<double> deviation() const override = 0;
  /// Writes the `image_bytes()` bytes of image `index`. May throw `Error` where images are read on demand.
  virtual void image(std::int64_t index, std::span<std::uint8_t> out) const = 0;
  virtual std::int32_t label(std::int64_t index) const = 0;  ///< in [0, classes())

  std::int64_t image_bytes() const { return image_shape().numel(); }

  /// Follows from the image shape, which must not change once it was asked for.
  const std::vector<Field>& fields() const final;
  /// The image, augmented as `draw` says, and the label.
  void read(std::int64_t index, const SampleDraw& draw,
            std::span<const std::span<std::byte>> out) const override;
  DataSizes sizes() const override;

 private:
  mutable std::once_flag fields_made_;
  mutable std::vector<Field> fields_;
};

/// For kinds that make their samples up or that need to know what the model takes.
struct DatasetOptions {
  std::int64_t size = 1024;      ///< samples of either split, where they are made up
  Shape image_shape{3, 32, 32};  ///< C, H, W
  int classes = 10;
  std::uint64_t seed = 0;
  Task task = Task::image_classification;
  std::vector<ModelInput> inputs{}, targets{};  ///< of the model, for data that are no images
  std::int64_t seq_len = 0;                     ///< tokens of a sample
  std::string vocab_file{}, merges_file{};      ///< of text, see `open_tokenizer`
};

/// Image shape, classes, task, inputs and so on of `model`.
DatasetOptions dataset_options(const Model& model);

/// Names that `open_dataset` knows.
std::vector<std::string_view> dataset_kinds();

/// Opens `path` as a data set of `kind`. Throws `Error` for an unknown kind, for files that cannot be
/// believed, and where the data are not for the task.
std::unique_ptr<Dataset> open_dataset(std::string_view kind, const std::string& path, Split split,
                                      const DatasetOptions& options = {});

}  // namespace swapadvisor
