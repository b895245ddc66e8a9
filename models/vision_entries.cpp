// Registry entries of the other image networks.
#include <swapadvisor/models/inception_v4.h>
#include <swapadvisor/models/model_entry.h>
#include <swapadvisor/models/nasnet.h>
#include <swapadvisor/models/vgg.h>
#include <swapadvisor/models/wide_resnet.h>

namespace swapadvisor {
namespace {

ModelEntry vgg16_entry() {
  auto build = [](const Scope& scope, Tensor images, const ModelInfo& info, const ModelOptions& options) {
    VggOptions settled{.classes = info.classes};
    settled.width = options.width.value_or(settled.width);
    settled.hidden = options.hidden.value_or(settled.hidden);
    settled.dropout = options.dropout.value_or(settled.dropout);
    return vgg16(scope, images, settled);
  };
  return image_entry({"vgg16", "VGG-16, ImageNet", 3, 224, 1000, {"width", "hidden", "dropout"}}, build);
}

ModelEntry wrn_entry() {
  auto build = [](const Scope& scope, Tensor images, const ModelInfo& info, const ModelOptions& options) {
    WideResNetOptions settled{.classes = info.classes};
    settled.depth = options.depth.value_or(settled.depth);
    settled.widening = options.width.value_or(settled.widening);
    settled.dropout = options.dropout.value_or(settled.dropout);
    return wide_resnet(scope, images, settled);
  };
  return image_entry({"wrn28-10",
                      "wide ResNet of 28 layers, 10 times as wide, CIFAR",
                      3,
                      32,
                      10,
                      {"depth", "width", "dropout"}},
                     build);
}

ModelEntry inception_v4_entry() {
  auto build = [](const Scope& scope, Tensor images, const ModelInfo& info, const ModelOptions& options) {
    InceptionV4Options settled{.classes = info.classes};
    settled.width = options.width.value_or(settled.width);
    settled.dropout = options.dropout.value_or(settled.dropout);
    return inception_v4(scope, images, settled);
  };
  return image_entry({"inception_v4", "Inception-v4, ImageNet", 3, 299, 1000, {"width", "dropout"}}, build);
}

ModelEntry nasnet_a_entry() {
  auto make = [](const ModelInfo& info, const ModelOptions& options) {
    NasnetOptions settled{.classes = info.classes};
    settled.cells = options.cells.value_or(settled.cells);
    settled.width = options.width.value_or(settled.width);
    settled.dropout = options.dropout.value_or(settled.dropout);
    settled.drop_path = options.drop_path.value_or(settled.drop_path);
    settled.drop_path_steps = options.drop_path_steps.value_or(settled.drop_path_steps);
    settled.auxiliary_weight = options.auxiliary_weight.value_or(settled.auxiliary_weight);
    return image_classifier(
        info, [settled](const Scope& scope, Tensor images) { return nasnet_a(scope, images, settled); });
  };
  return {{"nasnet-a",
           "NASNet-A (6 @ 4032), ImageNet",
           3,
           331,
           1000,
           {"cells", "width", "dropout", "drop-path", "drop-path-steps", "auxiliary-weight"}},
          make};
}

}  // namespace

std::vector<ModelEntry> vision_entries() {
  return {vgg16_entry(), wrn_entry(), inception_v4_entry(), nasnet_a_entry()};
}

}  // namespace swapadvisor
