#include <swapadvisor/models/inception_v4.h>
#include <swapadvisor/models/layers.h>
#include <swapadvisor/ops/avg_pool2d.h>
#include <swapadvisor/ops/concat.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/global_avg_pool.h>
#include <swapadvisor/ops/max_pool2d.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {
namespace {

using Size = std::array<std::int64_t, 2>;  // height, width

/// The modules, for one width: `out` counts channels as the paper does, where the first convolution has 32.
class InceptionV4 {
 public:
  explicit InceptionV4(std::int64_t width) : width_(width) {}

  /// Figure 3: 299 × 299 × 3 to 35 × 35 × 384.
  Tensor stem(const Scope& features, Tensor x) const {
    x = conv(features / 0, x, 32, {3, 3}, strided);
    x = conv(features / 1, x, 32, {3, 3});
    x = conv(features / 2, x, 64, {3, 3}, {.padding = {1, 1}});
    const Scope join3 = features / 3, join4 = features / 4, join5 = features / 5;
    x = cat(join3, {max_pool(join3 / "maxpool", x), conv(join3 / "conv", x, 96, {3, 3}, strided)});

    const Scope left = join4 / "branch0", right = join4 / "branch1";
    Tensor a = conv(left / 0, x, 64, {1, 1});
    a = conv(left / 1, a, 96, {3, 3});
    Tensor b = conv(right / 0, x, 64, {1, 1});
    b = conv(right / 1, b, 64, {1, 7}, same({1, 7}));
    b = conv(right / 2, b, 64, {7, 1}, same({7, 1}));
    b = conv(right / 3, b, 96, {3, 3});
    x = cat(join4, {a, b});

    return cat(join5, {conv(join5 / "conv", x, 192, {3, 3}, strided), max_pool(join5 / "maxpool", x)});
  }

  /// Figure 4.
  Tensor module_a(const Scope& scope, Tensor x) const {
    const Scope two = scope / "branch1", three = scope / "branch2";
    const Tensor a = conv(scope / "branch0", x, 96, {1, 1});
    Tensor b = conv(two / 0, x, 64, {1, 1});
    b = conv(two / 1, b, 96, {3, 3}, same({3, 3}));
    Tensor c = conv(three / 0, x, 64, {1, 1});
    c = conv(three / 1, c, 96, {3, 3}, same({3, 3}));
    c = conv(three / 2, c, 96, {3, 3}, same({3, 3}));
    return cat(scope, {a, b, c, pooled(scope / "branch3", x, 96)});
  }

  /// Figure 7, to half the size.
  Tensor reduction_a(const Scope& scope, Tensor x) const {
    const Scope deep = scope / "branch1";
    const Tensor a = conv(scope / "branch0", x, 384, {3, 3}, strided);
    Tensor b = conv(deep / 0, x, 192, {1, 1});
    b = conv(deep / 1, b, 224, {3, 3}, same({3, 3}));
    b = conv(deep / 2, b, 256, {3, 3}, strided);
    return cat(scope, {a, b, max_pool(scope / "branch2", x)});
  }

  /// Figure 5.
  Tensor module_b(const Scope& scope, Tensor x) const {
    const Scope two = scope / "branch1", three = scope / "branch2";
    const Tensor a = conv(scope / "branch0", x, 384, {1, 1});
    Tensor b = conv(two / 0, x, 192, {1, 1});
    b = conv(two / 1, b, 224, {1, 7}, same({1, 7}));
    b = conv(two / 2, b, 256, {7, 1}, same({7, 1}));
    Tensor c = conv(three / 0, x, 192, {1, 1});
    c = conv(three / 1, c, 192, {7, 1}, same({7, 1}));
    c = conv(three / 2, c, 224, {1, 7}, same({1, 7}));
    c = conv(three / 3, c, 224, {7, 1}, same({7, 1}));
    c = conv(three / 4, c, 256, {1, 7}, same({1, 7}));
    return cat(scope, {a, b, c, pooled(scope / "branch3", x, 128)});
  }

  /// Figure 8, to half the size.
  Tensor reduction_b(const Scope& scope, Tensor x) const {
    const Scope left = scope / "branch0", right = scope / "branch1";
    Tensor a = conv(left / 0, x, 192, {1, 1});
    a = conv(left / 1, a, 192, {3, 3}, strided);
    Tensor b = conv(right / 0, x, 256, {1, 1});
    b = conv(right / 1, b, 256, {1, 7}, same({1, 7}));
    b = conv(right / 2, b, 320, {7, 1}, same({7, 1}));
    b = conv(right / 3, b, 320, {3, 3}, strided);
    return cat(scope, {a, b, max_pool(scope / "branch2", x)});
  }

  /// Figure 6: two of the branches end in a fork.
  Tensor module_c(const Scope& scope, Tensor x) const {
    const Tensor a = conv(scope / "branch0", x, 256, {1, 1});
    const Tensor b = conv(scope / "branch1_0", x, 384, {1, 1});
    const Tensor b_wide = conv(scope / "branch1_1a", b, 256, {1, 3}, same({1, 3}));
    const Tensor b_tall = conv(scope / "branch1_1b", b, 256, {3, 1}, same({3, 1}));
    Tensor c = conv(scope / "branch2_0", x, 384, {1, 1});
    c = conv(scope / "branch2_1", c, 448, {3, 1}, same({3, 1}));
    c = conv(scope / "branch2_2", c, 512, {1, 3}, same({1, 3}));
    const Tensor c_wide = conv(scope / "branch2_3a", c, 256, {1, 3}, same({1, 3}));
    const Tensor c_tall = conv(scope / "branch2_3b", c, 256, {3, 1}, same({3, 1}));
    return cat(scope, {a, b_wide, b_tall, c_wide, c_tall, pooled(scope / "branch3", x, 256)});
  }

 private:
  static inline const Conv2dOptions strided{.stride = {2, 2}};

  static Conv2dOptions same(Size kernel) { return {.padding = {kernel[0] / 2, kernel[1] / 2}}; }

  /// Convolution, batch norm, ReLU.
  Tensor conv(const Scope& scope, Tensor x, std::int64_t out, Size kernel,
              const Conv2dOptions& options = {}) const {
    const ConvParameters parameters{.weight = Initializer::uniform_fan_in};
    Tensor y = conv2d(scope / "conv", x, out / 32 * width_, kernel, options, parameters);
    y = batch_norm(scope / "bn", y, {.epsilon = 1e-3});
    return relu(y, scope.name("relu"));
  }
  /// An average, then a 1×1 convolution.
  Tensor pooled(const Scope& branch, Tensor x, std::int64_t out) const {
    const Pool2dOptions around{
        .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .count_include_pad = false};
    return conv(branch / 1, avg_pool2d(x, around, branch.name("0")), out, {1, 1});
  }
  static Tensor max_pool(const Scope& scope, Tensor x) {
    return max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}}, scope.path());
  }
  static Tensor cat(const Scope& scope, const std::vector<Tensor>& branches) {
    return concat(branches, 1, scope.name("concat"));
  }

  std::int64_t width_;
};

}  // namespace

Tensor inception_v4(const Scope& scope, Tensor images, const InceptionV4Options& options) {
  const InceptionV4 modules(options.width);
  const Scope features = scope / "features";
  Tensor x = to_layout(images, scope.layout(), scope.name("images"));
  x = modules.stem(features, x);
  for (int i = 6; i < 10; ++i) x = modules.module_a(features / i, x);
  x = modules.reduction_a(features / 10, x);
  for (int i = 11; i < 18; ++i) x = modules.module_b(features / i, x);
  x = modules.reduction_b(features / 18, x);
  for (int i = 19; i < 22; ++i) x = modules.module_c(features / i, x);
  x = flatten(global_avg_pool(x, scope.name("global_pool")));
  if (scope.training() && options.dropout > 0)
    x = dropout(x, scope.step_number(), options.dropout, scope.name("head_drop"));
  return linear(scope / "last_linear", x, options.classes);
}

}  // namespace swapadvisor
