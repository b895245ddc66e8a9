#include <swapadvisor/models/layers.h>
#include <swapadvisor/models/resnet.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/global_avg_pool.h>
#include <swapadvisor/ops/max_pool2d.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {
namespace {

Tensor conv3x3(const Scope& scope, Tensor x, std::int64_t out, std::int64_t stride) {
  return conv2d(scope, x, out, 3, {.stride = {stride, stride}, .padding = {1, 1}});
}

Tensor conv1x1(const Scope& scope, Tensor x, std::int64_t out, std::int64_t stride) {
  return conv2d(scope, x, out, 1, {.stride = {stride, stride}});
}

/// The identity where the shape stays, else a projection.
Tensor shortcut(const Scope& scope, Tensor x, std::int64_t out, std::int64_t stride) {
  if (stride == 1 && x.shape()[1] == out) return x;
  return batch_norm(scope / 1, conv1x1(scope / 0, x, out, stride));
}

Tensor basic_block(const Scope& scope, Tensor x, std::int64_t planes, std::int64_t stride) {
  Tensor y = conv3x3(scope / "conv1", x, planes, stride);
  y = relu(batch_norm(scope / "bn1", y), scope.name("relu1"));
  y = conv3x3(scope / "conv2", y, planes, 1);
  y = batch_norm(scope / "bn2", y);
  y = add(y, shortcut(scope / "downsample", x, planes, stride), scope.name("add"));
  return relu(y, scope.name("relu2"));
}

Tensor bottleneck(const Scope& scope, Tensor x, std::int64_t planes, std::int64_t stride,
                  std::int64_t widening) {
  const std::int64_t inner = planes * widening, out = planes * 4;
  Tensor y = conv1x1(scope / "conv1", x, inner, 1);
  y = relu(batch_norm(scope / "bn1", y), scope.name("relu1"));
  y = conv3x3(scope / "conv2", y, inner, stride);
  y = relu(batch_norm(scope / "bn2", y), scope.name("relu2"));
  y = conv1x1(scope / "conv3", y, out, 1);
  y = batch_norm(scope / "bn3", y);
  y = add(y, shortcut(scope / "downsample", x, out, stride), scope.name("add"));
  return relu(y, scope.name("relu3"));
}

Tensor classifier(const Scope& scope, Tensor x, std::int64_t classes) {
  return linear(scope / "fc", flatten(global_avg_pool(x, scope.name("avgpool"))), classes);
}

}  // namespace

Tensor resnet(const Scope& scope, Tensor images, const ResNetOptions& options) {
  Tensor x = to_layout(images, scope.layout(), scope.name("images"));
  x = conv2d(scope / "conv1", x, options.width, 7, {.stride = {2, 2}, .padding = {3, 3}});
  x = relu(batch_norm(scope / "bn1", x), scope.name("relu"));
  x = max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}, scope.name("maxpool"));
  for (int stage = 0; stage < 4; ++stage) {
    const Scope layer = scope / ("layer" + std::to_string(stage + 1));
    const std::int64_t planes = options.width << stage;
    for (int block = 0; block < options.blocks[static_cast<std::size_t>(stage)]; ++block) {
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = options.block == ResNetBlock::basic
              ? basic_block(layer / block, x, planes, stride)
              : bottleneck(layer / block, x, planes, stride, options.bottleneck_widening);
    }
  }
  return classifier(scope, x, options.classes);
}

ResNetOptions resnet_options(int depth) {
  switch (depth) {
    case 18:
      return {.block = ResNetBlock::basic, .blocks = {2, 2, 2, 2}};
    case 34:
      return {.block = ResNetBlock::basic, .blocks = {3, 4, 6, 3}};
    case 50:
      return {.block = ResNetBlock::bottleneck, .blocks = {3, 4, 6, 3}};
    case 101:
      return {.block = ResNetBlock::bottleneck, .blocks = {3, 4, 23, 3}};
    case 152:
      return {.block = ResNetBlock::bottleneck, .blocks = {3, 8, 36, 3}};
    default:
      fail("there is no ResNet of depth {}: expected 18, 34, 50, 101 or 152", depth);
  }
}

Tensor cifar_resnet(const Scope& scope, Tensor images, const CifarResNetOptions& options) {
  Tensor x = to_layout(images, scope.layout(), scope.name("images"));
  x = conv3x3(scope / "conv1", x, options.width, 1);
  x = relu(batch_norm(scope / "bn1", x), scope.name("relu"));
  for (int stage = 0; stage < 3; ++stage) {
    const Scope layer = scope / ("layer" + std::to_string(stage + 1));
    for (int block = 0; block < options.blocks_per_stage; ++block)
      x = basic_block(layer / block, x, options.width << stage, stage > 0 && block == 0 ? 2 : 1);
  }
  return classifier(scope, x, options.classes);
}

}  // namespace swapadvisor
