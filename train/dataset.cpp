#include <fmt/format.h>
#include <swapadvisor/train/cifar.h>
#include <swapadvisor/train/dataset.h>
#include <swapadvisor/train/mnist.h>
#include <swapadvisor/train/synthetic.h>

#include <array>

namespace swapadvisor {
namespace {

struct Kind {
  std::string_view name;
  std::unique_ptr<Dataset> (*open)(const std::string& path, Split split, const DatasetOptions& options);
};

template <Cifar kind>
std::unique_ptr<Dataset> open_cifar_kind(const std::string& path, Split split, const DatasetOptions&) {
  return open_cifar(kind, path, split);
}

constexpr std::array kinds = {
    Kind{"mnist",
         [](const std::string& path, Split split, const DatasetOptions&) { return open_mnist(path, split); }},
    Kind{"cifar10", open_cifar_kind<Cifar::cifar10>},
    Kind{"cifar100", open_cifar_kind<Cifar::cifar100>},
    Kind{"synthetic", [](const std::string&, Split split,
                         const DatasetOptions& options) { return make_synthetic(split, options); }},
};

}  // namespace

std::vector<std::string_view> dataset_kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kinds) names.push_back(kind.name);
  return names;
}

std::unique_ptr<Dataset> open_dataset(std::string_view name, const std::string& path, Split split,
                                      const DatasetOptions& options) {
  for (const Kind& kind : kinds)
    if (kind.name == name) return kind.open(path, split, options);
  fail("unknown data set kind '{}': expected one of {}", name, fmt::join(dataset_kinds(), ", "));
}

}  // namespace swapadvisor
