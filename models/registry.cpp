#include <swapadvisor/models/mlp.h>
#include <swapadvisor/models/registry.h>
#include <swapadvisor/models/resnet.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace swapadvisor {
namespace {

/// A row of the registry: what is shown, and how to build it.
struct Entry {
  ModelInfo info;
  std::function<Tensor(const Scope&, Tensor, const ModelInfo&, const ModelOptions&)> build;
};

Entry imagenet_resnet(std::string name, std::string summary, ResNetOptions defaults) {
  auto build = [defaults](const Scope& scope, Tensor images, const ModelInfo& info,
                          const ModelOptions& options) {
    ResNetOptions settled = defaults;
    settled.width = options.width.value_or(defaults.width);
    settled.classes = info.classes;
    return resnet(scope, images, settled);
  };
  return {{std::move(name), std::move(summary), 3, 224, 1000, {"width"}}, build};
}

Entry plain_resnet(int depth) {
  return imagenet_resnet(fmt::format("resnet{}", depth), fmt::format("ResNet-{} (v1.5), ImageNet", depth),
                         resnet_options(depth));
}

/// torchvision's wide_resnet*_2: only the 3×3 convolutions are wider.
Entry torchvision_wide_resnet(int depth) {
  ResNetOptions options = resnet_options(depth);
  options.bottleneck_widening = 2;
  return imagenet_resnet(fmt::format("wide_resnet{}_2", depth),
                         fmt::format("ResNet-{} with bottlenecks twice as wide, ImageNet", depth), options);
}

/// All channels are `factor` times as many.
Entry widened_resnet(int depth, int factor) {
  ResNetOptions options = resnet_options(depth);
  options.width *= factor;
  return imagenet_resnet(fmt::format("wresnet{}-{}", depth, factor),
                         fmt::format("ResNet-{} with {} times the channels, ImageNet", depth, factor),
                         options);
}

Entry cifar_resnet_entry(int blocks_per_stage) {
  const int depth = 6 * blocks_per_stage + 2;
  auto build = [blocks_per_stage](const Scope& scope, Tensor images, const ModelInfo& info,
                                  const ModelOptions& options) {
    CifarResNetOptions settled{.blocks_per_stage = blocks_per_stage, .classes = info.classes};
    settled.width = options.width.value_or(settled.width);
    return cifar_resnet(scope, images, settled);
  };
  return {{fmt::format("resnet{}", depth), fmt::format("ResNet-{}, CIFAR", depth), 3, 32, 10, {"width"}},
          build};
}

Entry mlp_entry() {
  auto build = [](const Scope& scope, Tensor images, const ModelInfo& info, const ModelOptions& options) {
    MlpOptions settled{.classes = info.classes};
    settled.hidden = options.hidden.value_or(settled.hidden);
    settled.layers = options.layers.value_or(settled.layers);
    settled.dropout = options.dropout.value_or(settled.dropout);
    return mlp(scope, images, settled);
  };
  return {{"mlp", "multilayer perceptron with ReLU, MNIST", 1, 28, 10, {"hidden", "layers", "dropout"}}, build};
}

std::vector<Entry> entries() {
  std::vector<Entry> all;
  all.push_back(mlp_entry());
  for (int blocks_per_stage : {3, 5, 7, 9, 18}) all.push_back(cifar_resnet_entry(blocks_per_stage));
  for (int depth : {18, 34, 50, 101, 152}) all.push_back(plain_resnet(depth));
  for (int depth : {50, 101}) all.push_back(torchvision_wide_resnet(depth));
  for (int factor : {4, 10}) all.push_back(widened_resnet(152, factor));
  return all;
}

/// Levenshtein distance.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i) + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<ModelInfo> all = model_list();
  // Distances are quadratic in the lengths; of a very long name the start says enough.
  const std::string_view start = name.substr(0, 100);
  std::stable_sort(all.begin(), all.end(), [&](const ModelInfo& a, const ModelInfo& b) {
    return edit_distance(start, a.name) < edit_distance(start, b.name);
  });
  std::string names;
  for (const ModelInfo& info : all) names += (names.empty() ? "" : ", ") + info.name;
  fail("there is no model '{}': the models are {}", name, names);
}

using Option = std::optional<std::int64_t>;

void expect_range(std::string_view model, std::string_view option, const Option& value, std::int64_t least,
                  std::int64_t most) {
  if (value && (*value < least || *value > most))
    fail("the {} of {} must be from {} to {}, got {}", option, model, least, most, *value);
}

/// Upper ends are beyond any use and keep products of dimensions far from overflow.
void check_options(const ModelInfo& info, const ModelOptions& options) {
  const std::pair<std::string_view, bool> extra[] = {{"width", options.width.has_value()},
                                                     {"hidden", options.hidden.has_value()},
                                                     {"layers", options.layers.has_value()},
                                                     {"dropout", options.dropout.has_value()}};
  for (const auto& [option, given] : extra)
    if (given && std::find(info.options.begin(), info.options.end(), option) == info.options.end())
      fail("{} takes no option '{}'", info.name, option);
  expect_range(info.name, "image size", options.image_size, 1, 1 << 16);
  expect_range(info.name, "number of image channels", options.channels, 1, 1 << 16);
  expect_range(info.name, "number of classes", options.classes, 1, 1 << 24);
  expect_range(info.name, "width", options.width, 1, 1 << 16);
  expect_range(info.name, "hidden size", options.hidden, 1, 1 << 24);
  expect_range(info.name, "number of hidden layers", options.layers, 0, 10000);
  if (options.dropout && !(*options.dropout >= 0 && *options.dropout < 1))
    fail("the dropout of {} must be at least 0 and below 1, got {}", info.name, *options.dropout);
}

void expect_images(const ModelInfo& info, const Tensor& images) {
  const Shape& shape = images.shape();
  const bool fits = shape.rank() == 4 && shape[1] == info.channels && shape[2] == info.image_size &&
                    shape[3] == info.image_size;
  if (!fits)
    fail("{} expects images [N, {}, {}, {}], got {}", info.name, info.channels, info.image_size,
         info.image_size, to_string(shape));
}

}  // namespace

std::vector<ModelInfo> model_list() {
  std::vector<ModelInfo> infos;
  for (Entry& entry : entries()) infos.push_back(std::move(entry.info));
  return infos;
}

TensorSpec Model::input_spec(std::int64_t batch_size, DType dtype) const {
  return TensorSpec::dense(dtype, {batch_size, info.channels, info.image_size, info.image_size});
}

Model find_model(std::string_view name, const ModelOptions& options) {
  std::vector<Entry> all = entries();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.info.name == name; });
  if (found == all.end()) fail_unknown(name);
  ModelInfo info = std::move(found->info);
  check_options(info, options);
  info.channels = options.channels.value_or(info.channels);
  info.image_size = options.image_size.value_or(info.image_size);
  info.classes = options.classes.value_or(info.classes);
  auto logits = [info, options, build = std::move(found->build)](const Scope& scope, Tensor images) {
    expect_images(info, images);
    return build(scope, images, info, options);
  };
  return {std::move(info), std::move(logits)};
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const Buffer& buffer : graph.buffers())
    if (buffer.kind == BufferKind::parameter) count += buffer.spec.numel();
  return count;
}

}  // namespace swapadvisor
