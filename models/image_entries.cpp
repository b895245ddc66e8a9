// Registry entries of the multilayer perceptron and of the residual networks.
#include <swapadvisor/models/mlp.h>
#include <swapadvisor/models/model_entry.h>
#include <swapadvisor/models/resnet.h>

#include <utility>

namespace swapadvisor {
namespace {

ModelEntry imagenet_resnet(std::string name, std::string summary, ResNetOptions defaults) {
  return image_entry(
      {std::move(name), std::move(summary), 3, 224, 1000, {"width"}},
      [defaults](const Scope& scope, Tensor images, const ModelInfo& info, const ModelOptions& options) {
        ResNetOptions settled = defaults;
        settled.width = options.width.value_or(defaults.width);
        settled.classes = info.classes;
        return resnet(scope, images, settled);
      });
}

ModelEntry plain_resnet(int depth) {
  return imagenet_resnet(fmt::format("resnet{}", depth), fmt::format("ResNet-{} (v1.5), ImageNet", depth),
                         resnet_options(depth));
}

/// torchvision's wide_resnet*_2: only the 3×3 convolutions are wider.
ModelEntry torchvision_wide_resnet(int depth) {
  ResNetOptions options = resnet_options(depth);
  options.bottleneck_widening = 2;
  return imagenet_resnet(fmt::format("wide_resnet{}_2", depth),
                         fmt::format("ResNet-{} with bottlenecks twice as wide, ImageNet", depth), options);
}

/// All channels are `factor` times as many.
ModelEntry widened_resnet(int depth, int factor) {
  ResNetOptions options = resnet_options(depth);
  options.width *= factor;
  return imagenet_resnet(fmt::format("wresnet{}-{}", depth, factor),
                         fmt::format("ResNet-{} with {} times the channels, ImageNet", depth, factor),
                         options);
}

ModelEntry cifar_resnet_entry(int blocks_per_stage) {
  const int depth = 6 * blocks_per_stage + 2;
  auto build = [blocks_per_stage](const Scope& scope, Tensor images, const ModelInfo& info,
                                  const ModelOptions& options) {
    CifarResNetOptions settled{.blocks_per_stage = blocks_per_stage, .classes = info.classes};
    settled.width = options.width.value_or(settled.width);
    return cifar_resnet(scope, images, settled);
  };
  return image_entry(
      {fmt::format("resnet{}", depth), fmt::format("ResNet-{}, CIFAR", depth), 3, 32, 10, {"width"}}, build);
}

}  // namespace

ModelEntry image_entry(
    ModelInfo info,
    std::function<Tensor(const Scope&, Tensor, const ModelInfo&, const ModelOptions&)> build) {
  auto make = [build = std::move(build)](const ModelInfo& settled, const ModelOptions& options) {
    return image_classifier(
        settled, [=](const Scope& scope, Tensor images) { return build(scope, images, settled, options); });
  };
  return {std::move(info), std::move(make)};
}

std::vector<ModelEntry> mlp_entries() {
  auto build = [](const Scope& scope, Tensor images, const ModelInfo& info, const ModelOptions& options) {
    MlpOptions settled{.classes = info.classes};
    settled.hidden = options.hidden.value_or(settled.hidden);
    settled.layers = options.layers.value_or(settled.layers);
    settled.dropout = options.dropout.value_or(settled.dropout);
    return mlp(scope, images, settled);
  };
  return {image_entry(
      {"mlp", "multilayer perceptron with ReLU, MNIST", 1, 28, 10, {"hidden", "layers", "dropout"}}, build)};
}

std::vector<ModelEntry> resnet_entries() {
  std::vector<ModelEntry> all;
  for (int blocks_per_stage : {3, 5, 7, 9, 18}) all.push_back(cifar_resnet_entry(blocks_per_stage));
  for (int depth : {18, 34, 50, 101, 152}) all.push_back(plain_resnet(depth));
  for (int depth : {50, 101}) all.push_back(torchvision_wide_resnet(depth));
  for (int factor : {4, 10}) all.push_back(widened_resnet(152, factor));
  return all;
}

}  // namespace swapadvisor
