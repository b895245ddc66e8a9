// What a model takes, what it predicts, and how it is built.
#pragma once

#include <swapadvisor/core/scope.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// What a model learns to do. Decides which data fit it and how results are shown.
enum class Task : std::uint8_t {
  image_classification,
  language_modelling,         ///< the next token
  masked_language_modelling,  ///< tokens that were hidden
  sequence_classification,
};

/// "image classification", …
std::string_view name_of(Task task);

/// What a user may change of a model; what is absent keeps the model's default.
struct ModelOptions {
  std::optional<std::int64_t> image_size{};  ///< pixels, height and width
  std::optional<std::int64_t> channels{};    ///< of the images
  std::optional<std::int64_t> classes{};
  std::optional<std::int64_t> width{};   ///< channels after the stem
  std::optional<std::int64_t> hidden{};  ///< features of a hidden layer
  std::optional<std::int64_t> layers{};
  std::optional<double> dropout{};  ///< probability, in [0, 1)
  std::optional<std::int64_t> depth{};
  std::optional<std::int64_t> seq_len{};  ///< tokens of a sample
  std::optional<std::int64_t> vocab{};    ///< different tokens
  std::optional<std::int64_t> heads{};    ///< of attention
  std::optional<std::int64_t> cells{};
  std::optional<std::string> cell{};              ///< kind of recurrent cell
  std::optional<double> drop_path{};              ///< probability, in [0, 1)
  std::optional<double> auxiliary_weight{};       ///< of the loss of an auxiliary classifier
  std::optional<std::int64_t> drop_path_steps{};  ///< until that probability is reached
};

/// Name, sizes and options of a model. Sizes of another task than the model's mean nothing.
struct ModelInfo {
  std::string name{};
  std::string summary{};  ///< one line
  std::int64_t channels = 3;
  std::int64_t image_size = 224;
  std::int64_t classes = 1000;
  /// What else it takes: "width", "hidden", "layers", "dropout", "depth", "heads", "cells", "cell",
  /// "drop-path", "drop-path-steps", "auxiliary-weight".
  std::vector<std::string> options{};
  Task task = Task::image_classification;
  std::int64_t seq_len = 0;  ///< tokens of a sample, of models of text
  std::int64_t vocab = 0;    ///< different tokens, of models of text

  bool takes_images() const { return task == Task::image_classification; }
};

/// An array that a model reads, such as images, ids of tokens or labels.
struct ModelInput {
  std::string name;
  Shape shape;               ///< of one sample; a batch of N has N in front
  DType dtype = DType::f32;  ///< f32 stands for the scope's dtype
  std::int64_t below = 0;    ///< integers lie in [0, below); of targets, `ignored_label` too
  /// The value of all elements where the data do not have the array (an attention mask: 1); absent: they
  /// must.
  std::optional<std::int64_t> otherwise{};

  TensorSpec spec(std::int64_t batch_size, DType scope_dtype) const;
};

/// Classification of rows. The loss of a model is the sum over its predictions of weight · mean cross entropy
/// over the labels that are not ignored; accuracy counts the first prediction's rows.
struct ModelPrediction {
  Tensor logits{};         ///< [rows, classes]
  std::string target{};    ///< name of a target with `rows` elements
  Tensor target_tensor{};  ///< i32 [rows]; where given, used instead of the target itself: labels that are
                           ///< shifted
  double weight = 1;
};

/// Tensors by the names of the `ModelInput`s.
using ModelTensors = std::map<std::string, Tensor>;

/// A model whose options are settled.
struct Model {
  ModelInfo info;  ///< sizes as settled
  std::vector<ModelInput> inputs, targets;
  /// Builds the forward pass. The tensors have the specs of `inputs` and `targets`; images (f32 [C, H, W] a
  /// sample) come in the scope's layout or row major. Where a graph only infers, the targets are not there.
  /// Heads that only help training are not built when the scope does not train. Throws `Error` when a tensor
  /// has another shape.
  std::function<std::vector<ModelPrediction>(const Scope& scope, const ModelTensors& tensors)> predict;

  /// The first input's, row major: the canonical layout of inputs.
  TensorSpec input_spec(std::int64_t batch_size, DType dtype) const;
  /// The first prediction's logits of a model with one input.
  Tensor logits(const Scope& scope, Tensor input) const;
};

/// A classifier of images from what builds its logits: images [N, channels, image_size, image_size] → [N,
/// classes]. Input "input", target "target".
Model image_classifier(const ModelInfo& info, std::function<Tensor(const Scope& scope, Tensor images)> build);

/// The same for models with more than one classification of the image: predictions of target "target".
Model image_classifier(const ModelInfo& info,
                       std::function<std::vector<ModelPrediction>(const Scope& scope, Tensor images)> build);

}  // namespace swapadvisor
