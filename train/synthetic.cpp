#include <swapadvisor/core/rng.h>
#include <swapadvisor/train/synthetic.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor {
namespace {

// What a draw is for: the last counter word keeps the sequences apart.
enum class Draw : std::uint32_t { label, pattern, noise };

PhiloxBlock draw(std::uint64_t key, Draw what, std::uint64_t which, std::uint32_t block) {
  return philox({block, static_cast<std::uint32_t>(which), static_cast<std::uint32_t>(which >> 32),
                 static_cast<std::uint32_t>(what)},
                key);
}

std::uint8_t byte_of(const PhiloxBlock& block, std::size_t i) {
  return static_cast<std::uint8_t>(block[i / 4] >> (8 * (i % 4)));
}

class Synthetic : public ImageDataset {
 public:
  Synthetic(Split split, const DatasetOptions& options)
      : options_(options),
        pattern_key_(hash_name("dataset.pattern") ^ options.seed),
        sample_key_(hash_name(name_of(split), hash_name("dataset.")) ^ options.seed) {}

  std::int64_t size() const override { return options_.size; }
  Shape image_shape() const override { return options_.image_shape; }
  int classes() const override { return options_.classes; }
  // Of floor((a + b) / 2) with a and b uniform in 0..255, over 255.
  std::vector<double> mean() const override { return per_channel(127.25 / 255); }
  std::vector<double> deviation() const override {
    return per_channel(std::sqrt((65535.0 / 24 + 1.0 / 16)) / 255);
  }

  void image(std::int64_t index, std::span<std::uint8_t> out) const override {
    SWAPADVISOR_ASSERT(static_cast<std::int64_t>(out.size()) == image_bytes(), "{} bytes for an image of {}",
                       out.size(), image_bytes());
    const auto own = static_cast<std::uint64_t>(index), shared = static_cast<std::uint64_t>(label(index));
    for (std::size_t begin = 0; begin < out.size(); begin += 16) {
      const auto block = static_cast<std::uint32_t>(begin / 16);
      const PhiloxBlock noise = draw(sample_key_, Draw::noise, own, block);
      const PhiloxBlock pattern = draw(pattern_key_, Draw::pattern, shared, block);
      const std::size_t count = std::min<std::size_t>(16, out.size() - begin);
      for (std::size_t i = 0; i < count; ++i)
        out[begin + i] = static_cast<std::uint8_t>((byte_of(noise, i) + byte_of(pattern, i)) / 2);
    }
  }

  std::int32_t label(std::int64_t index) const override {
    SWAPADVISOR_ASSERT(index >= 0 && index < size(), "sample {} of {}", index, size());
    const std::uint64_t bits = draw(sample_key_, Draw::label, static_cast<std::uint64_t>(index), 0)[0];
    return static_cast<std::int32_t>((bits * static_cast<std::uint64_t>(options_.classes)) >> 32);
  }

 private:
  std::vector<double> per_channel(double value) const {
    return std::vector<double>(static_cast<std::size_t>(options_.image_shape[0]), value);
  }

  DatasetOptions options_;
  std::uint64_t pattern_key_;
  std::uint64_t sample_key_;
};

}  // namespace

std::unique_ptr<ImageDataset> make_synthetic(Split split, const DatasetOptions& options) {
  const Shape& shape = options.image_shape;
  constexpr std::int64_t largest = std::int64_t{1} << 32;
  if (options.size < 1) fail("a synthetic data set needs at least one sample, got {}", options.size);
  if (options.classes < 1) fail("a synthetic data set needs at least one class, got {}", options.classes);
  if (shape.rank() != 3 || std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 1; }))
    fail("synthetic images need a shape [channels, height, width], got {}", to_string(shape));
  if (shape.numel() > largest)
    fail("synthetic images of shape {} exceed {} bytes", to_string(shape), largest);
  return std::make_unique<Synthetic>(split, options);
}

}  // namespace swapadvisor
