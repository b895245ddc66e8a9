// A row of the registry: what is shown of a model, and how it is made.
#pragma once

#include <swapadvisor/models/model.h>

namespace swapadvisor {

/// `make` gets the sizes as settled (image_size, channels, classes, seq_len, vocab) and the options, which
/// are in range and only such as `info` lists.
struct ModelEntry {
  ModelInfo info;
  std::function<Model(const ModelInfo& settled, const ModelOptions& options)> make;
};

/// An entry from what builds the logits of images.
ModelEntry image_entry(ModelInfo info,
                       std::function<Tensor(const Scope& scope, Tensor images, const ModelInfo& settled,
                                            const ModelOptions& options)>
                           build);

// The families, each in the order to show it.
std::vector<ModelEntry> resnet_entries();  ///< for ImageNet and CIFAR, wide ones too
std::vector<ModelEntry> mlp_entries();     ///< multilayer perceptron
std::vector<ModelEntry> vision_entries();  ///< other networks for images
std::vector<ModelEntry> rnn_entries();     ///< LSTM and GRU, in one direction and both
std::vector<ModelEntry> bert_entries();    ///< encoders
std::vector<ModelEntry> gpt2_entries();    ///< decoders

}  // namespace swapadvisor
