#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/train/dataset.h>

#include <cstring>

namespace swapadvisor {

std::int64_t Dataset::sample_bytes() const {
  std::int64_t bytes = 0;
  for (const Field& field : fields()) bytes += field.bytes();
  return bytes;
}

const std::vector<Field>& ImageDataset::fields() const {
  std::call_once(fields_made_, [this] {
    fields_ = {{"input", DType::u8, image_shape()}, {"target", DType::i32, {}, ignored_label}};
  });
  return fields_;
}

void ImageDataset::read(std::int64_t index, const SampleDraw& draw,
                        std::span<const std::span<std::byte>> out) const {
  const std::span pixels(reinterpret_cast<std::uint8_t*>(out[0].data()), out[0].size());
  if (draw.augmentation.active()) {
    std::vector<std::uint8_t> original(pixels.size());
    image(index, original);
    augment(original, image_shape(), draw.augmentation, draw.seed, draw.epoch, index, pixels);
  } else {
    image(index, pixels);
  }
  const std::int32_t own = label(index);
  std::memcpy(out[1].data(), &own, sizeof own);
}

DataSizes ImageDataset::sizes() const {
  const Shape shape = image_shape();
  return {.image_size = shape[1], .channels = shape[0], .classes = classes()};
}

}  // namespace swapadvisor
