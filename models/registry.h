// The models by name, as the command line offers them.
#pragma once

#include <swapadvisor/core/scope.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// What a user may change of a model; what is absent keeps the model's default.
struct ModelOptions {
  std::optional<std::int64_t> image_size{};  ///< pixels, height and width
  std::optional<std::int64_t> channels{};    ///< of the images
  std::optional<std::int64_t> classes{};
  std::optional<std::int64_t> width{};   ///< ResNets: channels after the stem
  std::optional<std::int64_t> hidden{};  ///< mlp: features of a hidden layer
  std::optional<std::int64_t> layers{};  ///< mlp: hidden layers
  std::optional<double> dropout{};       ///< mlp: probability after each hidden layer, in [0, 1)
};

/// Name, sizes and options of a model.
struct ModelInfo {
  std::string name{};
  std::string summary{};  ///< one line
  std::int64_t channels = 3;
  std::int64_t image_size = 224;
  std::int64_t classes = 1000;
  std::vector<std::string> options{};  ///< what else it takes: "width", "hidden", "layers", "dropout"
};

/// All models with their defaults, in the order to show them.
std::vector<ModelInfo> model_list();

/// A model whose options are settled.
struct Model {
  ModelInfo info;  ///< channels, image_size and classes as settled
  /// Builds the forward pass: images [N, channels, image_size, image_size] of the scope's dtype, row major or
  /// channels last → logits [N, classes]. Throws `Error` when the images have another shape.
  std::function<Tensor(const Scope& scope, Tensor images)> logits;

  /// Row major: the canonical layout of inputs.
  TensorSpec input_spec(std::int64_t batch_size, DType dtype) const;
};

/// Throws `Error` for an unknown name (naming all models, the most similar one first), for an option that the
/// model does not take, and for one out of range.
Model find_model(std::string_view name, const ModelOptions& options = {});

/// Elements of all parameters (states not counted).
std::int64_t parameter_count(const Graph& graph);

}  // namespace swapadvisor
