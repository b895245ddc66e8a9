#include <gtest/gtest.h>
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/gelu.h>
#include <swapadvisor/ops/sigmoid.h>
#include <swapadvisor/ops/tanh.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "expect_error.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

using Builder = std::function<Tensor(Tensor)>;

template <class T>
std::vector<T> apply(const Builder& function, const std::vector<T>& x) {
  Graph graph;
  const Tensor y =
      function(graph.input("x", TensorSpec::dense(dtype_of<T>, {static_cast<std::int64_t>(x.size())})));
  HostBuffers buffers{{"x", to_bytes(x)}};
  interpret(graph, cpu_kernels(), buffers);
  return from_bytes<T>(buffers.at(y.name()));
}

template <class T>
T slope(const Builder& function, T x) {
  Graph graph;
  const Tensor input = graph.input("x", TensorSpec::dense(dtype_of<T>, {}));
  const Tensor dx = gradients(function(input), std::vector{input})[0];
  HostBuffers buffers{{"x", to_bytes<T>({x})}};
  interpret(graph, cpu_kernels(), buffers);
  return from_bytes<T>(buffers.at(dx.name()))[0];
}

const Builder sigmoid_of = [](Tensor x) { return sigmoid(x, "s"); };
const Builder tanh_of = [](Tensor x) { return tanh(x, "t"); };
const Builder gelu_of = [](Tensor x) { return gelu(x, GeluForm::exact, "g"); };
const Builder gelu_new_of = [](Tensor x) { return gelu(x, GeluForm::tanh, "g"); };

std::vector<double> grid() {
  std::vector<double> x;
  for (double v = -30; v <= 30; v += 0.0137) x.push_back(static_cast<float>(v));
  for (double v = 1e-30; v < 1; v *= 3.7)
    x.push_back(static_cast<float>(v)), x.push_back(static_cast<float>(-v));
  return x;
}

/// The f32 kernel's largest error, relative to |exact| + `floor`, and the f64 kernel's likewise.
std::pair<double, double> worst_errors(const Builder& function, const std::function<double(double)>& exact,
                                       double floor) {
  const std::vector<double> x = grid(), wide = apply<double>(function, x);
  const std::vector<float> narrow = apply<float>(function, std::vector<float>(x.begin(), x.end()));
  double worst32 = 0, worst64 = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = exact(x[i]), scale = std::abs(value) + floor;
    worst32 = std::max(worst32, std::abs(narrow[i] - value) / scale);
    worst64 = std::max(worst64, std::abs(wide[i] - value) / scale);
  }
  return {worst32, worst64};
}

TEST(Activations, SigmoidKeepsItsDigitsOnBothSides) {
  const auto [f32, f64] = worst_errors(
      sigmoid_of, [](double x) { return 1 / (1 + std::exp(-x)); }, 0);
  EXPECT_LT(f32, 4e-7);
  EXPECT_LT(f64, 1e-15);
}

TEST(Activations, TanhKeepsItsDigitsNearZero) {
  const auto [f32, f64] = worst_errors(
      tanh_of, [](double x) { return std::tanh(x); }, 0);
  EXPECT_LT(f32, 4e-7);
  EXPECT_LT(f64, 1e-15);
}

TEST(Activations, GeluIsXTimesTheNormalDistribution) {
  const auto exact = [](double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  const auto [f32, f64] = worst_errors(gelu_of, exact, 1e-3);
  EXPECT_LT(f32, 8e-7);
  EXPECT_LT(f64, 4e-15);
  EXPECT_NEAR(apply<double>(gelu_of, {1})[0], 0.84134474606854295, 1e-15);
}

TEST(Activations, GeluNewIsItsFormula) {
  const auto exact = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  };
  const auto [f32, f64] = worst_errors(gelu_new_of, exact, 1e-3);
  EXPECT_LT(f32, 8e-7);
  EXPECT_LT(f64, 1e-12);  // the formula itself cancels for negative x
}

TEST(Activations, EndsOfTheRange) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(apply<float>(sigmoid_of, {-infinity, -3e38F, 0, 3e38F, infinity}),
            (std::vector<float>{0, 0, 0.5F, 1, 1}));
  EXPECT_EQ(apply<float>(tanh_of, {-3e38F, -20, 0, 20, 3e38F}), (std::vector<float>{-1, -1, 0, 1, 1}));
  EXPECT_TRUE(std::signbit(apply<float>(tanh_of, {-0.0F})[0]));
  for (const Builder& function : {gelu_of, gelu_new_of}) {
    const std::vector<float> y = apply<float>(function, {-1e18F, -100, 0, 100, 1e18F});
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], 0);
    EXPECT_EQ(y[2], 0);
    EXPECT_EQ(y[3], 100);
    EXPECT_EQ(y[4], 1e18F);
  }
}

TEST(Activations, NaNStaysNaN) {
  for (const Builder& function : {sigmoid_of, tanh_of, gelu_of, gelu_new_of}) {
    EXPECT_TRUE(std::isnan(apply<float>(function, {std::nanf("")})[0]));
    EXPECT_TRUE(std::isnan(apply<double>(function, {std::nan("")})[0]));
    EXPECT_TRUE(std::isnan(slope<float>(function, std::nanf(""))));
  }
}

TEST(Activations, SlopesInTheTailsAreNotNaN) {
  for (const Builder& function : {sigmoid_of, tanh_of, gelu_of, gelu_new_of}) {
    EXPECT_NEAR(slope<float>(function, -60), 0, 1e-20);
    EXPECT_NEAR(slope<double>(function, -1e3), 0, 1e-300);
  }
  EXPECT_EQ(slope<float>(gelu_of, 60), 1);
  EXPECT_EQ(slope<float>(gelu_new_of, 60), 1);
}

TEST(Activations, IntegersAreRefused) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::i32, {3}));
  expect_error([&] { sigmoid(x, "s"); }, "[sigmoid s] x must be f32 or f64, got i32[3]");
  expect_error([&] { tanh(x, "t"); }, "[tanh t] x must be f32 or f64, got i32[3]");
  expect_error([&] { gelu(x, GeluForm::exact, "g"); }, "[gelu g] x must be f32 or f64, got i32[3]");
}

}  // namespace
}  // namespace swapadvisor
