#include <swapadvisor/core/file.h>
#include <swapadvisor/train/cifar.h>

#include <algorithm>
#include <filesystem>

namespace swapadvisor {
namespace {

constexpr std::int64_t largest_file = std::int64_t{4} << 30;

/// What differs between the two data sets.
struct Format {
  std::string name, subfolder;
  std::vector<std::string> train, test;  ///< files
  std::int64_t train_records, test_records;  ///< of each file, as published
  std::vector<int> labels;               ///< classes of each label byte; the last one is used
  std::vector<double> mean, deviation;   ///< per channel, of the 50,000 training images

  std::int64_t record_bytes() const { return std::ssize(labels) + 3 * 32 * 32; }
};

Format format_of(Cifar kind) {
  if (kind == Cifar::cifar10)
    return {.name = "CIFAR-10",
            .subfolder = "cifar-10-batches-bin",
            .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                      "data_batch_5.bin"},
            .test = {"test_batch.bin"},
            .train_records = 10000,
            .test_records = 10000,
            .labels = {10},
            .mean = {0.4914, 0.4822, 0.4465},
            .deviation = {0.2470, 0.2435, 0.2616}};
  return {.name = "CIFAR-100",
          .subfolder = "cifar-100-binary",
          .train = {"train.bin"},
          .test = {"test.bin"},
          .train_records = 50000,
          .test_records = 10000,
          .labels = {20, 100},
          .mean = {0.5071, 0.4865, 0.4409},
          .deviation = {0.2673, 0.2564, 0.2762}};
}

class CifarImages : public ImageDataset {
 public:
  CifarImages(Format format, std::string records, std::string doubt)
      : format_(std::move(format)), records_(std::move(records)), doubt_(std::move(doubt)) {}

  std::int64_t size() const override { return std::ssize(records_) / format_.record_bytes(); }
  Shape image_shape() const override { return {3, 32, 32}; }
  int classes() const override { return format_.labels.back(); }
  std::vector<double> mean() const override { return format_.mean; }
  std::vector<double> deviation() const override { return format_.deviation; }
  std::string doubt() const override { return doubt_; }

  void image(std::int64_t index, std::span<std::uint8_t> out) const override {
    SWAPADVISOR_ASSERT(std::ssize(out) == image_bytes(), "{} bytes for an image of {}", out.size(),
                       image_bytes());
    const auto pixels = record(index).substr(format_.labels.size());
    std::transform(pixels.begin(), pixels.end(), out.begin(),
                   [](char c) { return static_cast<std::uint8_t>(c); });
  }
  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::uint8_t>(record(index)[format_.labels.size() - 1]);
  }

 private:
  std::string_view record(std::int64_t index) const {
    SWAPADVISOR_ASSERT(index >= 0 && index < size(), "sample {} of {}", index, size());
    const auto bytes = static_cast<std::size_t>(format_.record_bytes());
    return std::string_view(records_).substr(static_cast<std::size_t>(index) * bytes, bytes);
  }

  Format format_;
  std::string records_;  // of all files, one after the other
  std::string doubt_;
};

/// The folder itself if it has the first file, else the subfolder that the archive makes.
std::filesystem::path find_folder(const Format& format, const std::string& folder, const std::string& first) {
  std::error_code ignored;
  const std::filesystem::path given = folder, inner = given / format.subfolder;
  if (!std::filesystem::is_directory(given, ignored))
    fail("the {} folder '{}' is not a directory", format.name, folder);
  for (const auto& path : {given, inner})
    if (std::filesystem::exists(path / first, ignored)) return path;
  fail("the {} folder '{}' has neither '{}' nor '{}/{}'", format.name, folder, first, format.subfolder,
       first);
}

/// The records of one file, checked.
std::string read_records(const Format& format, const std::string& file) {
  std::string bytes = read_file(file, largest_file);
  const std::int64_t size = std::ssize(bytes), record = format.record_bytes();
  if (size == 0) fail("'{}' is empty, expected {} records of {} bytes", file, format.name, record);
  if (size % record != 0)
    fail("'{}' is truncated or not a {} file: it has {} bytes, and {} records of {} bytes leave {} over",
         file, format.name, size, size / record, record, size % record);
  for (std::int64_t i = 0; i < size / record; ++i)
    for (std::size_t l = 0; l < format.labels.size(); ++l) {
      const int label = static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(i * record) + l]);
      if (label < format.labels[l]) continue;
      const char* which = format.labels.size() == 1 ? "" : l == 0 ? "coarse " : "fine ";
      fail("'{}': record {} has {}label {}, expected 0 to {}", file, i, which, label, format.labels[l] - 1);
    }
  return bytes;
}

}  // namespace

std::unique_ptr<ImageDataset> open_cifar(Cifar kind, const std::string& folder, Split split) {
  Format format = format_of(kind);
  const std::vector<std::string>& files = split == Split::train ? format.train : format.test;
  const std::filesystem::path found = find_folder(format, folder, files.front());
  const std::int64_t published = split == Split::train ? format.train_records : format.test_records;
  std::string records, unusual;
  for (const std::string& file : files) {
    const std::string own = read_records(format, (found / file).string());
    // A file cut between two records looks like a smaller data set, which somebody may have made on purpose.
    if (const std::int64_t count = std::ssize(own) / format.record_bytes(); count != published)
      unusual += fmt::format("{}{} has {}", unusual.empty() ? "" : ", ", file, count);
    records += own;
  }
  if (!unusual.empty())
    unusual = fmt::format(
        "files of {} in '{}' do not have the {} records of the published ones: {}; unless they "
        "were made so, they are damaged",
        format.name, found.string(), published, unusual);
  return std::make_unique<CifarImages>(std::move(format), std::move(records), std::move(unusual));
}

}  // namespace swapadvisor
