// Values of element-wise ops that the table's comparisons cannot vouch for.
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/fill.h>
#include <swapadvisor/ops/image_to_float.h>
#include <swapadvisor/ops/relu.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "expect_error.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> run(const Graph& graph, Tensor result, HostBuffers buffers) {
  interpret(graph, cpu_kernels(), buffers);
  return from_bytes<T>(buffers.at(result.name()));
}

TEST(Relu, ClipsNegativesAndKeepsNaN) {
  Graph graph;
  const Tensor y = relu(graph.input("x", TensorSpec::dense(DType::f32, {5})));
  const auto found = run<float>(graph, y, {{"x", to_bytes<float>({-1, 0, 2, nan, -INFINITY})}});
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], 0);
  EXPECT_EQ(found[2], 2);
  EXPECT_TRUE(std::isnan(found[3]));
  EXPECT_EQ(found[4], 0);
}

TEST(Cast, ConvertsAndKeepsTheLayout) {
  Graph graph;
  const TensorSpec spec = TensorSpec::dense(DType::f64, {1, 2, 1, 2}, Layout::channels_last);
  const Tensor x = graph.input("x", spec), y = cast(x, DType::f32);
  EXPECT_EQ(y.spec().strides, spec.strides);
  EXPECT_EQ(cast(x, DType::f64).id(), x.id());
  EXPECT_EQ(run<float>(graph, y, {{"x", to_bytes<double>({0.1, -2, 3, 1e-3})}}),
            (std::vector<float>{0.1F, -2, 3, 1e-3F}));
  expect_error([&] { cast(x, DType::i32, "c"); }, "[cast c] cannot cast to i32");
}

TEST(Fill, SetsEveryElement) {
  Graph graph;
  const Tensor y = fill(graph, TensorSpec::dense(DType::f32, {3}), 0.25);
  EXPECT_EQ(run<float>(graph, y, {}), (std::vector<float>{0.25F, 0.25F, 0.25F}));
}

TEST(ImageToFloat, NormalisesEachChannelInBothLayouts) {
  std::vector<std::uint8_t> pixels(2 * 3 * 2 * 2);
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{231});
  const std::vector<double> mean{0.1, 0.2, 0.3}, deviation{0.5, 0.25, 2};
  for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
    Graph graph;
    const Tensor x = graph.input("x", TensorSpec::dense(DType::u8, {2, 3, 2, 2}));
    const Tensor y = image_to_float(x, DType::f64, layout, mean, deviation);
    HostBuffers buffers{{"x", to_bytes(pixels)}};
    interpret(graph, cpu_kernels(), buffers);
    const auto found = to_logical(y.spec(), buffers.at(y.name()));
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::size_t c = i / 4 % 3;
      EXPECT_DOUBLE_EQ(found[i], (pixels[i] / 255.0 - mean[c]) / deviation[c]);
    }
  }
}

}  // namespace
}  // namespace swapadvisor
