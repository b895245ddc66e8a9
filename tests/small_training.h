// Training runs small enough for tests.
#pragma once

#include <swapadvisor/train/synthetic.h>
#include <swapadvisor/train/trainer.h>

#include <memory>
#include <string>

namespace swapadvisor {

/// resnet20 on 8×8 images, 4 channels wide, or an mlp with dropout.
inline Model small_model(const std::string& name) {
  ModelOptions options;
  options.image_size = 8;
  if (name == "resnet20") options.width = 4;
  if (name == "mlp") options.hidden = 16, options.layers = 3, options.dropout = 0.25;
  return find_model(name, options);
}

inline std::unique_ptr<ImageDataset> small_data(const Model& model, Split split, std::int64_t size) {
  DatasetOptions data;
  data.image_shape = {model.info.channels, model.info.image_size, model.info.image_size};
  data.classes = static_cast<int>(model.info.classes);
  data.size = size;
  return make_synthetic(split, data);
}

/// `batch_size` samples per micro-batch, an uneven last batch padded.
inline TrainerOptions small_run(const Dataset& data, std::int64_t batch_size, std::int64_t steps,
                                std::int64_t micro_batches = 1) {
  TrainerOptions options;
  options.step.batch_size = batch_size;
  options.step.micro_batches = micro_batches;
  options.step.mean = data.mean();
  options.step.deviation = data.deviation();
  options.loader.batch_size = batch_size * micro_batches;
  options.loader.last_batch = LastBatch::pad;
  options.session.profile_repeats = 1;
  options.steps = steps;
  options.learning_rate = [](std::int64_t step) { return 0.02 / static_cast<double>(1 + step); };
  return options;
}

}  // namespace swapadvisor
