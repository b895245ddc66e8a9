// Convolution, pooling and matrix products against their definitions, written as plain loops; layouts;
// errors.
#include <gtest/gtest.h>
#include <swapadvisor/ops/avg_pool2d.h>
#include <swapadvisor/ops/bias_add.h>
#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/global_avg_pool.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/matmul.h>
#include <swapadvisor/ops/max_pool2d.h>
#include <swapadvisor/ops/to_layout.h>

#include <cmath>
#include <limits>

#include "interpret.h"

namespace swapadvisor {
namespace {

constexpr Layout layouts[] = {Layout::row_major, Layout::channels_last};

/// Small multiples of 1/8: sums and products are exact.
std::vector<double> numbers(std::int64_t n, std::int64_t salt) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<double>((i * 37 + salt * 11) % 23 - 11) / 8);
  return values;
}

/// A graph with inputs of given values, in logical order, and the value of a result.
class Bench {
 public:
  Tensor input(const Shape& shape, std::vector<double> values, Layout layout = Layout::row_major) {
    const std::string name = fmt::format("input{}", graph.buffers().size());
    const Tensor tensor = graph.input(name, TensorSpec::dense(DType::f64, shape, layout));
    buffers[name] = from_logical(tensor.spec(), values);
    return tensor;
  }
  std::vector<double> value(Tensor tensor) {
    interpret(graph, portable_kernels(), buffers, {.threads = 2});
    return to_logical(tensor.spec(), buffers.at(tensor.name()));
  }

  Graph graph;
  HostBuffers buffers;
};

/// Element (n, c, h, w) of a tensor in logical order; `outside` beyond height and width.
double at(const std::vector<double>& x, const Shape& s, std::int64_t n, std::int64_t c, std::int64_t h,
          std::int64_t w, double outside = 0) {
  if (h < 0 || h >= s[2] || w < 0 || w >= s[3]) return outside;
  return x[static_cast<std::size_t>(((n * s[1] + c) * s[2] + h) * s[3] + w)];
}

struct ConvCase {
  Shape x, weight, y;
  Conv2dOptions options;
};

std::vector<double> convolve(const ConvCase& c, const std::vector<double>& x,
                             const std::vector<double>& weight) {
  std::vector<double> y;
  const Conv2dOptions& o = c.options;
  const std::int64_t outputs = c.y[1] / o.groups;
  for (std::int64_t n = 0; n < c.y[0]; ++n)
    for (std::int64_t k = 0; k < c.y[1]; ++k)
      for (std::int64_t h = 0; h < c.y[2]; ++h)
        for (std::int64_t w = 0; w < c.y[3]; ++w) {
          double sum = 0;
          for (std::int64_t i = 0; i < c.weight[1]; ++i)
            for (std::int64_t a = 0; a < c.weight[2]; ++a)
              for (std::int64_t b = 0; b < c.weight[3]; ++b)
                sum +=
                    at(weight, c.weight, k, i, a, b) * at(x, c.x, n, k / outputs * c.weight[1] + i,
                                                          h * o.stride[0] - o.padding[0] + a * o.dilation[0],
                                                          w * o.stride[1] - o.padding[1] + b * o.dilation[1]);
          y.push_back(sum);
        }
  return y;
}

TEST(SpatialOps, Conv2dIsItsDefinition) {
  const std::vector<ConvCase> cases{
      {{2, 3, 5, 7}, {4, 3, 3, 3}, {2, 4, 5, 7}, {.padding = {1, 1}}},
      {{2, 5, 3, 4}, {7, 5, 1, 1}, {2, 7, 3, 4}, {}},
      {{1, 3, 17, 19}, {5, 3, 7, 7}, {1, 5, 9, 10}, {.stride = {2, 2}, .padding = {3, 3}}},
      {{2, 2, 7, 9}, {3, 2, 1, 5}, {2, 3, 4, 9}, {.stride = {2, 1}, .padding = {0, 2}}},
      {{1, 3, 9, 8}, {2, 3, 3, 3}, {1, 2, 9, 8}, {.padding = {2, 1}, .dilation = {2, 1}}},
      {{2, 6, 5, 5}, {4, 3, 3, 3}, {2, 4, 5, 5}, {.padding = {1, 1}, .groups = 2}},
      {{3, 6, 5, 4}, {12, 1, 3, 2}, {3, 12, 3, 3}, {.groups = 6}},
      {{1, 2, 6, 6}, {2, 2, 3, 3}, {1, 2, 2, 2}, {.stride = {2, 2}}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {}},
  };
  for (const ConvCase& c : cases)
    for (Layout layout : layouts) {
      Bench bench;
      const auto x = numbers(c.x.numel(), 1), weight = numbers(c.weight.numel(), 2);
      const Tensor y = conv2d(bench.input(c.x, x, layout), bench.input(c.weight, weight), c.options);
      ASSERT_EQ(y.shape(), c.y);
      EXPECT_EQ(bench.value(y), convolve(c, x, weight)) << to_string(c.x) << " * " << to_string(c.weight);
    }
}

struct PoolCase {
  Shape x, y;
  Pool2dOptions options;
};

std::vector<PoolCase> pool_cases() {
  return {
      {{2, 3, 6, 8}, {2, 3, 3, 4}, {}},
      {{2, 5, 9, 7}, {2, 5, 5, 4}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}},
      {{1, 2, 7, 5},
       {1, 2, 3, 3},
       {.kernel = {2, 3}, .stride = {3, 1}, .padding = {1, 0}, .ceil_mode = true}},
      // Rounded up, a third window would start beyond the input and its padding.
      {{1, 1, 3, 3}, {1, 1, 2, 2}, {.kernel = {1, 1}, .stride = {2, 2}, .ceil_mode = true}},
      {{1, 2, 6, 6}, {1, 2, 3, 3}, {.kernel = {3, 3}, .stride = {2, 2}, .ceil_mode = true}},
      {{1, 2, 6, 6},
       {1, 2, 4, 4},
       {.kernel = {2, 2}, .stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true}},
      {{2, 2, 5, 6},
       {2, 2, 5, 6},
       {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .count_include_pad = false}},
      {{1, 1, 5, 5}, {1, 1, 2, 2}, {.kernel = {1, 2}, .stride = {3, 3}}},
  };
}

/// Calls f with the elements of each window in order, padding as NaN, and the count that PyTorch divides by.
template <class F>
void for_windows(const PoolCase& c, const std::vector<double>& x, F&& f) {
  const Pool2dOptions& o = c.options;
  for (std::int64_t n = 0; n < c.y[0]; ++n)
    for (std::int64_t k = 0; k < c.y[1]; ++k)
      for (std::int64_t h = 0; h < c.y[2]; ++h)
        for (std::int64_t w = 0; w < c.y[3]; ++w) {
          std::vector<double> window;
          const std::int64_t top = h * o.stride[0] - o.padding[0], left = w * o.stride[1] - o.padding[1];
          std::int64_t padded = 0, inside = 0;
          for (std::int64_t i = top; i < top + o.kernel[0]; ++i)
            for (std::int64_t j = left; j < left + o.kernel[1]; ++j) {
              window.push_back(at(x, c.x, n, k, i, j, std::nan("")));
              padded += i < c.x[2] + o.padding[0] && j < c.x[3] + o.padding[1];
              inside += !std::isnan(window.back());
            }
          f(window, o.count_include_pad ? padded : inside);
        }
}

TEST(SpatialOps, MaxPoolTakesTheFirstMaximum) {
  for (const PoolCase& c : pool_cases())
    for (Layout layout : layouts) {
      std::vector<double> x = numbers(c.x.numel(), 3);
      for (double& v : x) v = std::floor(v);  // many ties
      std::vector<double> y, index;
      for_windows(c, x, [&](const std::vector<double>& window, std::int64_t) {
        std::size_t best = 0;
        for (std::size_t i = 0; i < window.size(); ++i)
          if (std::isnan(window[best]) || window[i] > window[best]) best = i;
        y.push_back(window[best]);
        index.push_back(static_cast<double>(best));
      });
      Bench bench;
      const Tensor input = bench.input(c.x, x, layout);
      const auto outputs = bench.graph.apply(std::make_shared<MaxPool2dOp>(c.options), {input}, "pool");
      ASSERT_EQ(outputs[0].shape(), c.y);
      EXPECT_EQ(bench.value(outputs[0]), y) << to_string(c.x);
      EXPECT_EQ(bench.value(outputs[1]), index) << to_string(c.x);
    }
}

TEST(SpatialOps, MaxPoolPassesNanOn) {
  for (Layout layout : layouts) {
    Bench bench;
    std::vector<double> x = numbers(2 * 9 * 16, 4);
    x[5] = std::nan("");
    const auto y = bench.value(max_pool2d(bench.input({1, 18, 4, 4}, x, layout)));
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i == 0) << i;
  }
}

TEST(SpatialOps, AvgPoolIsItsDefinition) {
  for (const PoolCase& c : pool_cases())
    for (Layout layout : layouts) {
      const std::vector<double> x = numbers(c.x.numel(), 5);
      std::vector<double> y;
      for_windows(c, x, [&](const std::vector<double>& window, std::int64_t count) {
        double sum = 0;
        for (double v : window) sum += std::isnan(v) ? 0 : v;
        y.push_back(sum / static_cast<double>(count));
      });
      Bench bench;
      const Tensor result = avg_pool2d(bench.input(c.x, x, layout), c.options);
      ASSERT_EQ(result.shape(), c.y);
      EXPECT_EQ(bench.value(result), y) << to_string(c.x);
    }
}

TEST(SpatialOps, GlobalAvgPoolIsTheMean) {
  for (Layout layout : layouts) {
    Bench bench;
    const auto x = numbers(2 * 67 * 4 * 8, 6);
    const auto y = bench.value(global_avg_pool(bench.input({2, 67, 4, 8}, x, layout)));
    ASSERT_EQ(y.size(), 134u);
    for (std::size_t i = 0; i < y.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < 32; ++j) sum += x[i * 32 + j];
      EXPECT_EQ(y[i], sum / 32) << i;
    }
  }
}

TEST(SpatialOps, MatmulIsItsDefinition) {
  const std::int64_t m = 37, n = 21, k = 29;
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      Bench bench;
      const auto a = numbers(m * k, 7), b = numbers(k * n, 8);
      const Tensor c = matmul(bench.input(ta ? Shape{k, m} : Shape{m, k}, a),
                              bench.input(tb ? Shape{n, k} : Shape{k, n}, b), ta, tb);
      const auto value = bench.value(c);
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < k; ++l)
            sum += a[static_cast<std::size_t>(ta ? l * m + i : i * k + l)] *
                   b[static_cast<std::size_t>(tb ? j * k + l : l * n + j)];
          ASSERT_EQ(value[static_cast<std::size_t>(i * n + j)], sum) << i << ", " << j;
        }
    }
}

TEST(SpatialOps, LinearAddsItsBias) {
  Bench bench;
  const Tensor x = bench.input({2, 2}, {1, 2, 3, 4}), weight = bench.input({3, 2}, {1, 0, 0, 1, 1, 1});
  const Tensor plain = linear(x, weight, {}, "plain");
  const Tensor y = linear(x, weight, bench.input({3}, {10, 20, 30}), "fc");
  EXPECT_EQ(bench.value(plain), (std::vector<double>{1, 2, 3, 3, 4, 7}));
  EXPECT_EQ(bench.value(y), (std::vector<double>{11, 22, 33, 13, 24, 37}));
}

TEST(SpatialOps, FlattenIsInLogicalOrder) {
  for (Layout layout : layouts) {
    Bench bench;
    const auto x = numbers(2 * 3 * 4 * 5, 9);
    const Tensor flat = flatten(bench.input({2, 3, 4, 5}, x, layout));
    EXPECT_EQ(flat.shape(), (Shape{2, 60}));
    EXPECT_EQ(bench.value(flat), x);
  }
}

TEST(SpatialOps, ChosenLayoutSurvivesOneChannelAndOnePixel) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {2, 1, 8, 8}));
  const Tensor chosen = to_layout(x, Layout::channels_last);
  const Tensor weight = graph.input("w", TensorSpec::dense(DType::f32, {4, 1, 3, 3}));
  EXPECT_TRUE(conv2d(chosen, weight).spec().is_channels_last());
  EXPECT_TRUE(conv2d(x, weight).spec().is_row_major());
  EXPECT_EQ(to_layout(chosen, Layout::channels_last).id(), chosen.id());
  const Tensor pixel = global_avg_pool(conv2d(chosen, weight));
  EXPECT_EQ(to_layout(pixel, Layout::row_major).id(), pixel.id());  // the same bytes
}

template <class F>
void expect_error(const std::string& sentence, F&& f) {
  try {
    f();
    ADD_FAILURE() << "no error: " << sentence;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), sentence);
  }
}

TEST(SpatialOps, ErrorsNameTheOperand) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {2, 128, 8, 8}));
  const auto weight = [&](const Shape& shape) {
    return graph.input(fmt::format("w{}", graph.buffers().size()), TensorSpec::dense(DType::f32, shape));
  };
  expect_error("[conv2d c] weight expects 256 input channels, got 128", [&] {
    conv2d(x, weight({64, 256, 3, 3}), {}, "c");
  });
  expect_error("[conv2d c] 128 input channels do not divide into 3 groups", [&] {
    conv2d(x, weight({3, 1, 3, 3}), {.groups = 3}, "c");
  });
  expect_error("[conv2d c] a kernel height of 9 exceeds the padded input height of 8", [&] {
    conv2d(x, weight({1, 128, 9, 1}), {}, "c");
  });
  expect_error("[conv2d c] stride must be between 1 and 16777216, got 0", [&] {
    conv2d(x, weight({1, 128, 1, 1}), {.stride = {0, 1}}, "c");
  });
  expect_error("[max_pool2d p] padding must be between 0 and half of the kernel 2, got 2", [&] {
    max_pool2d(x, {.padding = {2, 0}}, "p");
  });
  expect_error("[max_pool2d p] a window of 17 × 16 has more than 256 elements", [&] {
    max_pool2d(x, {.kernel = {17, 16}, .padding = {8, 8}}, "p");
  });
  expect_error("[matmul m] b expects an inner dimension of 4, got 3", [&] {
    matmul(weight({2, 3}), weight({4, 5}), false, false, "m");
  });
  expect_error("[bias_add b] bias must be f32[128], got f32[64]", [&] { bias_add(x, weight({64}), "b"); });
}

}  // namespace
}  // namespace swapadvisor
