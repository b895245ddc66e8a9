#include <swapadvisor/models/layers.h>
#include <swapadvisor/models/vgg.h>
#include <swapadvisor/ops/adaptive_avg_pool2d.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/max_pool2d.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {
namespace {

/// A linear layer as torchvision's VGG initialises it: N(0, 0.01²), no bias at first.
Tensor dense(const Scope& scope, Tensor x, std::int64_t out) {
  const Tensor matrix = weight(scope, "weight", {out, x.shape()[1]}, Initializer::normal(0, 0.01));
  const Tensor bias = weight(scope, "bias", {out}, Initializer::zeros());
  return linear(x, matrix, bias, scope.path());
}

/// 3×3 convolutions, five stages with max pooling behind each. Members of `features` are numbered as in
/// torchvision: a convolution, its ReLU and a pooling count one each.
Tensor convolutions(const Scope& features, Tensor x, std::int64_t width) {
  struct Stage {
    int layers;
    std::int64_t widening;
  };
  int member = 0;
  for (const Stage& stage : {Stage{2, 1}, Stage{2, 2}, Stage{3, 4}, Stage{3, 8}, Stage{3, 8}}) {
    for (int layer = 0; layer < stage.layers; ++layer) {
      x = conv2d(features / member++, x, stage.widening * width, {3, 3}, {.padding = {1, 1}}, {.bias = true});
      x = relu(x, features.name(std::to_string(member++)));
    }
    x = max_pool2d(x, {.kernel = {2, 2}, .stride = {2, 2}}, features.name(std::to_string(member++)));
  }
  return x;
}

}  // namespace

Tensor vgg16(const Scope& scope, Tensor images, const VggOptions& options) {
  Tensor x = to_layout(images, scope.layout(), scope.name("images"));
  x = convolutions(scope / "features", x, options.width);
  x = flatten(adaptive_avg_pool2d(x, {7, 7}, scope.name("avgpool")));

  // Linear, ReLU, dropout: members 0, 1, 2 and 3, 4, 5; then the logits.
  const Scope classifier = scope / "classifier";
  for (int member : {0, 3}) {
    x = relu(dense(classifier / member, x, options.hidden), classifier.name(std::to_string(member + 1)));
    if (scope.training() && options.dropout > 0)
      x = dropout(x, scope.step_number(), options.dropout, classifier.name(std::to_string(member + 2)));
  }
  return dense(classifier / 6, x, options.classes);
}

}  // namespace swapadvisor
