#include <swapadvisor/models/layers.h>
#include <swapadvisor/models/wide_resnet.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/global_avg_pool.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {
namespace {

Tensor conv3x3(const Scope& scope, Tensor x, std::int64_t out, std::int64_t stride) {
  return conv2d(scope, x, out, 3, {.stride = {stride, stride}, .padding = {1, 1}});
}

Tensor activate(const Scope& scope, Tensor x) {
  return relu(batch_norm(scope, x), scope.name("relu"));
}

/// Pre-activation: batch norm and ReLU come before each convolution, and before the projection of the
/// shortcut.
Tensor block(const Scope& scope, Tensor x, std::int64_t out, std::int64_t stride, double drop) {
  const Tensor active = activate(scope / "bn0", x);
  Tensor y = conv3x3(scope / "conv0", active, out, stride);
  y = activate(scope / "bn1", y);
  if (scope.training() && drop > 0) y = dropout(y, scope.step_number(), drop, scope.name("dropout"));
  y = conv3x3(scope / "conv1", y, out, 1);
  if (x.shape()[1] != out) x = conv2d(scope / "convdim", active, out, 1, {.stride = {stride, stride}});
  return add(y, x, scope.name("add"));
}

}  // namespace

Tensor wide_resnet(const Scope& scope, Tensor images, const WideResNetOptions& options) {
  if (options.depth < 10 || (options.depth - 4) % 6 != 0)
    fail("the depth of a wide residual network is 6n + 4 (10, 16, 22, 28, …), got {}", options.depth);
  const std::int64_t blocks = (options.depth - 4) / 6;
  Tensor x = to_layout(images, scope.layout(), scope.name("images"));
  x = conv3x3(scope / "conv0", x, 16, 1);
  for (int group = 0; group < 3; ++group) {
    const Scope place = scope / fmt::format("group{}", group);
    const std::int64_t out = (std::int64_t{16} << group) * options.widening;
    for (std::int64_t i = 0; i < blocks; ++i)
      x = block(place / fmt::format("block{}", i), x, out, group > 0 && i == 0 ? 2 : 1, options.dropout);
  }
  x = flatten(global_avg_pool(activate(scope / "bn", x), scope.name("avgpool")));

  const Scope fc = scope / "fc";
  const Shape shape{options.classes, x.shape()[1]};
  const Tensor matrix = weight(fc, "weight", shape, Initializer::uniform_fan_in(shape));
  return linear(x, matrix, weight(fc, "bias", {options.classes}, Initializer::zeros()), fc.path());
}

}  // namespace swapadvisor
