#include <swapadvisor/models/layers.h>
#include <swapadvisor/models/nasnet.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/avg_pool2d.h>
#include <swapadvisor/ops/concat.h>
#include <swapadvisor/ops/drop_path.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/global_avg_pool.h>
#include <swapadvisor/ops/max_pool2d.h>
#include <swapadvisor/ops/pad2d.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/to_layout.h>

#include <algorithm>

namespace swapadvisor {
namespace {

constexpr ConvParameters timm_default{.weight = Initializer::uniform_fan_in};

Tensor bn(const Scope& scope, Tensor x) {
  return batch_norm(scope, x, {.epsilon = 1e-3});
}

// "Same" padding as TensorFlow does it: ⌈size / stride⌉ outputs, and an odd element of padding goes to the
// end.

std::int64_t same_padding(std::int64_t size, std::int64_t kernel, std::int64_t stride) {
  const std::int64_t outputs = (size + stride - 1) / stride;
  return std::max<std::int64_t>(0, (outputs - 1) * stride + kernel - size);
}

/// x with what an op's own, even padding cannot express; `padding` is what is left for the op.
Tensor pad_same(const Scope& scope, Tensor x, std::int64_t kernel, std::int64_t stride,
                std::array<std::int64_t, 2>& padding) {
  const std::int64_t height = same_padding(x.shape()[2], kernel, stride);
  const std::int64_t width = same_padding(x.shape()[3], kernel, stride);
  if (height % 2 == 0 && width % 2 == 0) {
    padding = {height / 2, width / 2};
    return x;
  }
  padding = {0, 0};
  return pad2d(x, {height / 2, height - height / 2, width / 2, width - width / 2}, scope.name("pad"));
}

/// Of 3×3 windows. Zeros of uneven padding count in the average, those of even padding do not unless there is
/// a stride: so do timm's.
Tensor average(const Scope& scope, Tensor x, std::int64_t stride) {
  Pool2dOptions options{.kernel = {3, 3}, .stride = {stride, stride}, .count_include_pad = stride > 1};
  x = pad_same(scope, x, 3, stride, options.padding);
  return avg_pool2d(x, options, scope.path());
}

/// Of 3×3 windows, two apart. Rounding up covers the uneven padding, which is never the maximum.
Tensor maximum(const Scope& scope, Tensor x) {
  const auto padding = [&](int axis) { return same_padding(x.shape()[axis], 3, 2) / 2; };
  return max_pool2d(
      x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {padding(2), padding(3)}, .ceil_mode = true},
      scope.path());
}

/// Depthwise, then pointwise.
Tensor separable(const Scope& scope, Tensor x, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  Conv2dOptions options{.stride = {stride, stride}, .groups = x.shape()[1]};
  x = pad_same(scope, x, kernel, stride, options.padding);
  x = conv2d(scope / "depthwise_conv2d", x, x.shape()[1], {kernel, kernel}, options, timm_default);
  return conv2d(scope / "pointwise_conv2d", x, out, {1, 1}, {}, timm_default);
}

/// Every second pixel, from the first or from the second on, as 1×1 averages.
Tensor every_second(const Scope& scope, Tensor x, bool from_second) {
  if (from_second) x = pad2d(x, {.top = -1, .bottom = 1, .left = -1, .right = 1}, scope.name("pad"));
  return avg_pool2d(x, {.kernel = {1, 1}, .stride = {2, 2}}, scope.name("avgpool"));
}

/// What cells are made of. The names of a cell's branches are timm's: comb_iter_0_left, …
class Cell {
 public:
  /// `drop`: probability that a branch is dropped, after `drop_steps` steps of rising.
  Cell(const Scope& scope, std::int64_t filters, double drop, std::int64_t drop_steps)
      : scope_(scope), filters_(filters), drop_(drop), drop_steps_(drop_steps) {}

  /// To this cell's filters.
  Tensor project(std::string_view name, Tensor x) const {
    const Scope scope = scope_ / name;
    x = relu(x, scope.name("act"));
    return bn(scope / "bn", conv2d(scope / "conv", x, filters_, {1, 1}, {}, timm_default));
  }

  /// To this cell's filters and half the size: odd pixels and even ones make half of the channels each.
  Tensor project_and_halve(Tensor x) const {
    x = relu(x, scope_.name("act"));
    std::vector<Tensor> halves;
    for (int i : {0, 1}) {
      const Scope path = scope_ / fmt::format("path_{}", i + 1);
      halves.push_back(
          conv2d(path / "conv", every_second(path, x, i == 1), filters_ / 2, {1, 1}, {}, timm_default));
    }
    return bn(scope_ / "final_path_bn", concat(halves, 1, scope_.name("paths")));
  }

  /// Figure 4, left: the cell that keeps the size.
  Tensor normal(Tensor left, Tensor right) const {
    const Tensor left_active = relu(left, scope_.name("left_relu")),
                 right_active = relu(right, scope_.name("right_relu"));
    const Tensor c0 = sum(0, {branch(0, "left", right_active, 5, 1), branch(0, "right", left_active, 3, 1)});
    const Tensor c1 = sum(1, {branch(1, "left", left_active, 5, 1), branch(1, "right", left_active, 3, 1)});
    const Tensor c2 = sum(2, {mean(2, "left", right, 1), left});
    const Tensor c3 = sum(3, {mean(3, "left", left, 1), mean(3, "right", left, 1)});
    const Tensor c4 = sum(4, {branch(4, "left", right_active, 3, 1), right});
    return concat({left, c0, c1, c2, c3, c4}, 1, scope_.name("concat"));
  }

  /// Figure 4, right: the cell that halves the size.
  Tensor reduction(Tensor left, Tensor right) const {
    const Tensor left_active = relu(left, scope_.name("left_relu")),
                 right_active = relu(right, scope_.name("right_relu"));
    const Tensor largest = maximum(scope_ / "maxpool", right);  // of branches 1 and 4
    const Tensor c0 = sum(0, {branch(0, "left", right_active, 5, 2), branch(0, "right", left_active, 7, 2)});
    const Tensor c1 = sum(1, {dropped(at(1, "left"), largest), branch(1, "right", left_active, 7, 2)});
    const Tensor c2 = sum(2, {mean(2, "left", right, 2), branch(2, "right", left_active, 5, 2)});
    const Tensor c3 = sum(3, {mean(3, "right", c0, 1), c1});
    const Tensor c0_active = relu(c0, scope_.name("c0_relu"));
    const Tensor c4 = sum(4, {branch(4, "left", c0_active, 3, 1), dropped(at(4, "right"), largest)});
    return concat({c1, c2, c3, c4}, 1, scope_.name("concat"));
  }

 private:
  Scope at(int combination, std::string_view side) const {
    return scope_ / fmt::format("comb_iter_{}_{}", combination, side);
  }
  /// Braces around the terms: their parameters are made in that order.
  Tensor sum(int combination, const std::array<Tensor, 2>& terms) const {
    return add(terms[0], terms[1], scope_.name(fmt::format("comb_iter_{}", combination)));
  }
  /// Two separable convolutions, of an x that has been through ReLU; the first has the stride.
  Tensor branch(int combination, std::string_view side, Tensor x, std::int64_t kernel,
                std::int64_t stride) const {
    const Scope scope = at(combination, side);
    x = bn(scope / "bn_sep_1", separable(scope / "separable_1", x, filters_, kernel, stride));
    x = relu(x, scope.name("act_2"));
    x = bn(scope / "bn_sep_2", separable(scope / "separable_2", x, filters_, kernel, 1));
    return dropped(scope, x);
  }
  Tensor mean(int combination, std::string_view side, Tensor x, std::int64_t stride) const {
    const Scope scope = at(combination, side);
    return dropped(scope, average(scope, x, stride));
  }
  Tensor dropped(const Scope& scope, Tensor x) const {
    if (drop_ == 0) return x;
    return drop_path(x, scope.step_number(), drop_, scope.name("drop_path"), drop_steps_);
  }

  Scope scope_;
  std::int64_t filters_;
  double drop_;
  std::int64_t drop_steps_;
};

/// The cells in order, each reading the two outputs before it.
class Nasnet {
 public:
  Nasnet(const Scope& scope, const NasnetOptions& options) : scope_(scope), options_(options) {}

  std::vector<ModelPrediction> predictions(Tensor images) {
    stem(images);
    Tensor auxiliary;
    const std::int64_t first = options_.cells / 3, second = 2 * options_.cells / 3;
    for (std::int64_t i = 0; i < options_.cells; ++i) {
      const bool reduce = i == first || i == second;
      if (i == second && scope_.training() && options_.auxiliary_weight > 0) auxiliary = auxiliary_logits(x_);
      if (reduce) reduction_cell(i == first ? 0 : 1);
      normal_cell(i, i == 0 || reduce);
    }
    std::vector<ModelPrediction> all{{.logits = classifier(x_), .target = "target"}};
    if (auxiliary)
      all.push_back({.logits = auxiliary, .target = "target", .weight = options_.auxiliary_weight});
    return all;
  }

 private:
  /// Figure 2, right: a convolution and two reduction cells, the second of which reads the convolution again.
  void stem(Tensor images) {
    const Scope conv0 = scope_ / "conv0";
    const std::int64_t channels = options_.width * 4 / 7;
    const Tensor x = conv2d(conv0 / "conv", images, channels, {3, 3}, {.stride = {2, 2}}, timm_default);
    const Tensor start = bn(conv0 / "bn", x);

    const Cell cell0 = next_cell("cell_stem_0", options_.width / 4);
    const Tensor right0 = cell0.project("conv_1x1", start);
    before_ = cell0.reduction(start, right0);

    const Cell cell1 = next_cell("cell_stem_1", options_.width / 2);
    const Tensor right1 = cell1.project("conv_1x1", before_);
    x_ = cell1.reduction(cell1.project_and_halve(start), right1);
  }

  /// The cell behind it reads the same output twice before it as this one.
  void reduction_cell(int index) {
    filters_ *= 2;
    const Cell cell = next_cell(fmt::format("reduction_cell_{}", index), filters_);
    const Tensor left = cell.project("conv_prev_1x1", before_);
    x_ = cell.reduction(left, cell.project("conv_1x1", x_));
  }

  /// `first`: of its stack; what it reads from before is twice as large.
  void normal_cell(std::int64_t index, bool first) {
    const Cell cell = next_cell(fmt::format("cell_{}", index), filters_);
    Tensor left, right;
    if (first) {
      right = cell.project("conv_1x1", x_);
      left = cell.project_and_halve(before_);
    } else {
      left = cell.project("conv_prev_1x1", before_);
      right = cell.project("conv_1x1", x_);
    }
    before_ = x_;
    x_ = cell.normal(left, right);
  }

  Cell next_cell(const std::string& name, std::int64_t filters) {
    const auto all =
        static_cast<double>(options_.cells + 4);  // with two cells of the stem and two reduction cells
    const double drop = scope_.training() ? options_.drop_path * static_cast<double>(++made_) / all : 0;
    return {scope_ / name, filters, drop, options_.drop_path_steps};
  }

  Tensor classifier(Tensor x) const {
    x = relu(x, scope_.name("act"));
    x = flatten(global_avg_pool(x, scope_.name("global_pool")));
    if (scope_.training() && options_.dropout > 0)
      x = dropout(x, scope_.step_number(), options_.dropout, scope_.name("head_drop"));
    return linear(scope_ / "last_linear", x, options_.classes);
  }

  /// As in the authors' code: 5×5 averages, 1×1 to 128 channels, a convolution over all positions to 768.
  Tensor auxiliary_logits(Tensor x) const {
    const Scope head = scope_ / "aux_head";
    x = relu(x, head.name("act"));
    x = avg_pool2d(x, {.kernel = {5, 5}, .stride = {3, 3}}, head.name("pool"));
    x = conv2d(head / "proj", x, 128, {1, 1}, {}, timm_default);
    x = relu(bn(head / "aux_bn0", x), head.name("act0"));
    x = conv2d(head / "conv", x, 768, {x.shape()[2], x.shape()[3]}, {}, timm_default);
    x = relu(bn(head / "aux_bn1", x), head.name("act1"));
    return linear(head / "fc", flatten(x), options_.classes);
  }

  Scope scope_;
  NasnetOptions options_;
  std::int64_t filters_ = options_.width;
  int made_ = 0;       ///< cells so far
  Tensor before_, x_;  ///< outputs of the last two cells
};

}  // namespace

std::vector<ModelPrediction> nasnet_a(const Scope& scope, Tensor images, const NasnetOptions& options) {
  if (options.cells < 3)
    fail("NASNet-A has three stacks of cells: expected at least 3 cells, got {}", options.cells);
  if (options.width < 4 || options.width % 4 != 0)
    fail("the width of NASNet-A must be a multiple of 4, got {}", options.width);
  images = to_layout(images, scope.layout(), scope.name("images"));
  return Nasnet(scope, options).predictions(images);
}

}  // namespace swapadvisor
