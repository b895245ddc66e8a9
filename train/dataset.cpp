#include <fmt/format.h>
#include <swapadvisor/train/cifar.h>
#include <swapadvisor/train/dataset.h>
#include <swapadvisor/train/image_folder.h>
#include <swapadvisor/train/mnist.h>
#include <swapadvisor/train/synthetic.h>
#include <swapadvisor/train/text_dataset.h>

#include <array>

namespace swapadvisor {
namespace {

enum class Content : std::uint8_t { images, text, any };

struct Kind {
  std::string_view name;
  Content content;
  std::unique_ptr<Dataset> (*open)(const std::string& path, Split split, const DatasetOptions& options);
};

template <Cifar kind>
std::unique_ptr<Dataset> open_cifar_kind(const std::string& path, Split split, const DatasetOptions&) {
  return open_cifar(kind, path, split);
}

std::unique_ptr<Dataset> open_synthetic(const std::string&, Split split, const DatasetOptions& options) {
  if (options.task == Task::image_classification) return make_synthetic(split, options);
  return make_synthetic_text(split, options);
}

constexpr std::array kinds = {
    Kind{"mnist", Content::images,
         [](const std::string& path, Split split, const DatasetOptions&) -> std::unique_ptr<Dataset> {
           return open_mnist(path, split);
         }},
    Kind{"cifar10", Content::images, open_cifar_kind<Cifar::cifar10>},
    Kind{"cifar100", Content::images, open_cifar_kind<Cifar::cifar100>},
    Kind{"imagefolder", Content::images,
         [](const std::string& path, Split split, const DatasetOptions& options) -> std::unique_ptr<Dataset> {
           return open_image_folder(path, split, options);
         }},
    Kind{"text", Content::text, open_text},
    Kind{"synthetic", Content::any, open_synthetic},
};

}  // namespace

DatasetOptions dataset_options(const Model& model) {
  const ModelInfo& info = model.info;
  DatasetOptions options;
  options.image_shape = {info.channels, info.image_size, info.image_size};
  options.classes = static_cast<int>(info.classes);
  options.task = info.task;
  options.inputs = model.inputs;
  options.targets = model.targets;
  options.seq_len = info.seq_len;
  return options;
}

std::vector<std::string_view> dataset_kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kinds) names.push_back(kind.name);
  return names;
}

std::unique_ptr<Dataset> open_dataset(std::string_view name, const std::string& path, Split split,
                                      const DatasetOptions& options) {
  for (const Kind& kind : kinds) {
    if (kind.name != name) continue;
    const bool images = options.task == Task::image_classification;
    if (kind.content != Content::any && (kind.content == Content::images) != images)
      fail("the {} data are {}, which is not what {} needs", name,
           kind.content == Content::images ? "images" : "text", name_of(options.task));
    return kind.open(path, split, options);
  }
  fail("unknown data set kind '{}': expected one of {}", name, fmt::join(dataset_kinds(), ", "));
}

}  // namespace swapadvisor
