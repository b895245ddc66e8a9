// Padding, adaptive pooling and drop path against their definitions; errors.
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/adaptive_avg_pool2d.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/drop_path.h>
#include <swapadvisor/ops/max_pool2d.h>
#include <swapadvisor/ops/pad2d.h>

#include <cmath>

#include "expect_error.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

constexpr Layout layouts[] = {Layout::row_major, Layout::channels_last};
using Values = std::vector<double>;

/// 1, 2, 3, …
Values counted(const Shape& shape) {
  Values values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i + 1);
  return values;
}

/// What `build` makes of an f64 image with the elements 1, 2, 3, … in logical order.
template <class Build>
Values of_counted(const Shape& shape, Layout layout, Build&& build, Shape* result = nullptr) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f64, shape, layout));
  const Tensor y = build(x);
  if (result) *result = y.shape();
  HostBuffers buffers{{"x", from_logical(x.spec(), counted(shape))}};
  interpret(graph, portable_kernels(), buffers, {.threads = 2});
  return to_logical(y.spec(), buffers.at(y.name()));
}

TEST(Pad2d, AddsZerosAndTakesRowsAndColumnsAway) {
  for (Layout layout : layouts) {
    EXPECT_EQ(of_counted({1, 2, 1, 2}, layout, [](Tensor x) { return pad2d(x, {.top = 1, .right = 1}); }),
              (Values{0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 4, 0}));
    // timm's ZeroPad2d((-1, 1, -1, 1)).
    EXPECT_EQ(of_counted({1, 1, 3, 3}, layout,
                         [](Tensor x) {
                           return pad2d(x, {-1, 1, -1, 1});
                         }),
              (Values{5, 6, 0, 8, 9, 0, 0, 0, 0}));
  }
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {1, 2, 3, 4}));
  EXPECT_EQ(pad2d(x, {}).id(), x.id());
}

TEST(Pad2d, RefusesToLeaveNothing) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {1, 2, 3, 4}));
  expect_error([&] { pad2d(x, {.top = -3, .bottom = 5}, "p"); },
               "[pad2d p] a crop by 3 and -5 leaves nothing of a height of 3");
  expect_error([&] { pad2d(x, {.left = -2, .right = -2}, "p"); }, "leaves nothing of a width of 4");
  expect_error([&] { pad2d(x, {.left = std::int64_t{1} << 40}, "p"); }, "padding must be between");
  expect_error(
      [&] {
        pad2d(graph.input("m", TensorSpec::dense(DType::f32, {3, 4})), {.left = 1}, "p");
      },
      "x must have 4 dimensions");
}

TEST(AdaptiveAvgPool2d, IsTheMeanOfPyTorchsWindows) {
  for (Layout layout : layouts) {
    const auto to = [](std::int64_t h, std::int64_t w) {
      return [=](Tensor x) { return adaptive_avg_pool2d(x, {h, w}); };
    };
    // Rows 0 to 1 and 1 to 2; columns 0 to 1, 1 to 3, 3 to 4 of 5 (PyTorch 2's answer).
    EXPECT_EQ(of_counted({1, 1, 3, 5}, layout, to(2, 3)), (Values{4, 5.5, 7, 9, 10.5, 12}));
    EXPECT_EQ(of_counted({1, 2, 1, 2}, layout, to(2, 3)),
              (Values{1, 1.5, 2, 1, 1.5, 2, 3, 3.5, 4, 3, 3.5, 4}));
  }
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {1, 2, 3, 4}));
  EXPECT_EQ(adaptive_avg_pool2d(x, {3, 4}).id(), x.id());
  expect_error(
      [&] {
        adaptive_avg_pool2d(x, {0, 4}, "a");
      },
      "[adaptive_avg_pool2d a] the output size must be between 1 and");
}

TEST(MaxPool2d, OfAWindowThatReachesBeyondASmallImage) {
  for (Layout layout : layouts)
    EXPECT_EQ(of_counted({1, 1, 2, 2}, layout,
                         [](Tensor x) {
                           return max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}, .ceil_mode = true});
                         }),
              Values{4});
}

std::vector<float> drop_ones(const Shape& shape, double p, std::int64_t step, std::uint64_t seed,
                             int threads = 1, std::int64_t rise_steps = 0) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, shape));
  const Tensor y =
      drop_path(x, graph.input("step", TensorSpec::dense(DType::i64, {})), p, "drop", rise_steps);
  HostBuffers buffers{{"x", to_bytes(std::vector<float>(static_cast<std::size_t>(shape.numel()), 1.0F))},
                      {"step", to_bytes<std::int64_t>({step})}};
  interpret(graph, cpu_kernels(), buffers, {.threads = threads, .seed = seed});
  return from_bytes<float>(buffers.at(y.name()));
}

TEST(DropPath, RisesWithTheSteps) {
  for (const std::int64_t step : {0, 25, 100, 5000}) {
    const double p = 0.8 * std::min(1.0, static_cast<double>(step) / 100);
    const auto found = drop_ones({400, 2}, 0.8, step, 7, 1, 100);
    EXPECT_EQ(found, drop_ones({400, 2}, p, step, 7));
    const auto dropped = static_cast<double>(std::count(found.begin(), found.end(), 0.0F)) / 800;
    EXPECT_NEAR(dropped, p, 0.1) << step;
  }
}

TEST(DropPath, DropsWholeSamplesByTheBitsOfRandomStream) {
  Graph graph;
  const Tensor step = graph.input("step", TensorSpec::dense(DType::i64, {}));
  drop_path(graph.input("x", TensorSpec::dense(DType::f32, {1})), step, 0.5, "drop");
  const auto id = dynamic_cast<const DropPathOp&>(*graph.nodes()[0].op).draw_id();
  const RandomStream random{123456789012345, id, 42};
  for (const double p : {0.1, 0.5, 0.9}) {
    const auto found = drop_ones({101, 3, 17, 5}, p, 42, random.seed, 2);
    const auto kept = static_cast<float>(1 / (1 - p));
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], random.uniform(i / (3 * 17 * 5)) < p ? 0 : kept) << i;
  }
}

TEST(DropPath, DropsTheRightShareAnewInEveryStep) {
  const auto first = drop_ones({20'000, 1}, 0.3, 1, 1), second = drop_ones({20'000, 1}, 0.3, 2, 1);
  const auto dropped = static_cast<double>(std::count(first.begin(), first.end(), 0.0F));
  EXPECT_NEAR(dropped / 20'000, 0.3, 5 * std::sqrt(0.3 * 0.7 / 20'000));
  EXPECT_NE(first, second);
  EXPECT_NE(first, drop_ones({20'000, 1}, 0.3, 1, 2));
}

TEST(DropPath, Errors) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {3}));
  const Tensor step = graph.input("step", TensorSpec::dense(DType::i64, {}));
  EXPECT_EQ(drop_path(x, step, 0).id(), x.id());
  for (const double p : {-0.1, 1.0, std::nan("")})
    expect_error([&] { drop_path(x, step, p, "d"); }, "[drop_path d] the drop probability must be in [0, 1)");
  expect_error([&] { drop_path(x, step, 0.5, "d", -1); }, "the drop probability cannot rise over -1 steps");
  expect_error([&] { drop_path(x, x, 0.5, "d"); }, "step number must be a i64 scalar, got f32[3]");
  const Tensor scalar = graph.input("s", TensorSpec::dense(DType::f32, {}));
  expect_error([&] { drop_path(scalar, step, 0.5, "d"); }, "x must have a dimension of samples");
}

}  // namespace
}  // namespace swapadvisor
