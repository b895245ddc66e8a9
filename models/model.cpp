#include <swapadvisor/models/model.h>

#include <utility>

namespace swapadvisor {
namespace {

void expect_images(const ModelInfo& info, const Tensor& images) {
  const Shape& shape = images.shape();
  const bool fits = shape.rank() == 4 && shape[1] == info.channels && shape[2] == info.image_size &&
                    shape[3] == info.image_size;
  if (!fits)
    fail("{} expects images [N, {}, {}, {}], got {}", info.name, info.channels, info.image_size,
         info.image_size, to_string(shape));
}

}  // namespace

std::string_view name_of(Task task) {
  switch (task) {
    case Task::image_classification:
      return "image classification";
    case Task::language_modelling:
      return "language modelling";
    case Task::masked_language_modelling:
      return "masked language modelling";
    case Task::sequence_classification:
      return "sequence classification";
  }
  return "?";
}

TensorSpec ModelInput::spec(std::int64_t batch_size, DType scope_dtype) const {
  std::vector<std::int64_t> dims{batch_size};
  dims.insert(dims.end(), shape.begin(), shape.end());
  return TensorSpec::dense(dtype == DType::f32 ? scope_dtype : dtype, Shape(dims));
}

TensorSpec Model::input_spec(std::int64_t batch_size, DType dtype) const {
  SWAPADVISOR_ASSERT(!inputs.empty(), "model '{}' has no input", info.name);
  return inputs.front().spec(batch_size, dtype);
}

Tensor Model::logits(const Scope& scope, Tensor input) const {
  SWAPADVISOR_ASSERT(inputs.size() == 1, "model '{}' has {} inputs", info.name, inputs.size());
  return predict(scope, {{inputs.front().name, input}}).front().logits;
}

Model image_classifier(const ModelInfo& info, std::function<Tensor(const Scope&, Tensor)> build) {
  return image_classifier(info, [build = std::move(build)](const Scope& scope, Tensor images) {
    return std::vector<ModelPrediction>{{.logits = build(scope, images), .target = "target"}};
  });
}

Model image_classifier(const ModelInfo& info,
                       std::function<std::vector<ModelPrediction>(const Scope&, Tensor)> build) {
  Model model;
  model.info = info;
  model.inputs = {{.name = "input", .shape = {info.channels, info.image_size, info.image_size}}};
  model.targets = {{.name = "target", .shape = {}, .dtype = DType::i32, .below = info.classes}};
  model.predict = [info, build = std::move(build)](const Scope& scope, const ModelTensors& tensors) {
    const Tensor images = tensors.at("input");
    expect_images(info, images);
    return build(scope, images);
  };
  return model;
}

}  // namespace swapadvisor
