#include <gtest/gtest.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include <cmath>

#include "interpret.h"

namespace swapadvisor {
namespace {

std::vector<double> normals(std::int64_t n, std::uint32_t id, double mean = 0, double deviation = 1) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(
        static_cast<float>(mean + deviation * RandomStream{1, id, 0}.normal(static_cast<std::uint64_t>(i))));
  return values;
}

struct Problem {
  Problem(const Shape& shape, DType dtype, Layout layout, double mean, double epsilon) {
    const std::int64_t channels = shape[1];
    const TensorSpec vector = TensorSpec::dense(dtype, {channels});
    const Tensor x = graph.input("x", TensorSpec::dense(dtype, shape, layout));
    out = batch_norm(x, graph.input("gamma", vector), graph.input("beta", vector), epsilon);
    x_values = normals(shape.numel(), 1, mean, 2), gamma = normals(channels, 2), beta = normals(channels, 3);
    buffers = {{"x", from_logical(x.spec(), x_values)},
               {"gamma", from_logical(vector, gamma)},
               {"beta", from_logical(vector, beta)}};
    interpret(graph, cpu_kernels(), buffers, {.threads = 2});
  }
  std::vector<double> values(Tensor t) const { return to_logical(t.spec(), buffers.at(t.name())); }

  Graph graph;
  BatchNormOutput out;
  HostBuffers buffers;
  std::vector<double> x_values, gamma, beta;
};

/// Compares with the definition, evaluated in two passes in double.
void expect_definition(const Problem& p, const Shape& shape, double epsilon, double tolerance) {
  const std::int64_t channels = shape[1], inner = shape.numel() / shape[0] / channels;
  const auto y = p.values(p.out.y), mean = p.values(p.out.mean), inverse = p.values(p.out.inverse_deviation);
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto channel = static_cast<std::size_t>(c);
    const auto for_each = [&](auto f) {
      for (std::int64_t n = 0; n < shape[0]; ++n)
        for (std::int64_t i = 0; i < inner; ++i) f(static_cast<std::size_t>((n * channels + c) * inner + i));
    };
    const auto count = static_cast<double>(shape[0] * inner);
    double m = 0, v = 0;
    for_each([&](std::size_t i) { m += p.x_values[i] / count; });
    for_each([&](std::size_t i) { v += (p.x_values[i] - m) * (p.x_values[i] - m) / count; });
    const double deviation = std::sqrt(v + epsilon);
    ASSERT_NEAR(mean[channel], m, tolerance * std::max(1.0, std::abs(m)));
    ASSERT_NEAR(inverse[channel] * deviation, 1, tolerance);
    for_each([&](std::size_t i) {
      const double expected = (p.x_values[i] - m) / deviation * p.gamma[channel] + p.beta[channel];
      ASSERT_NEAR(y[i], expected, tolerance * 20);
    });
  }
}

TEST(BatchNorm, MatchesItsDefinition) {
  for (const Shape& shape : {Shape{3, 5, 4, 7}, Shape{2, 130, 3, 3}, Shape{9, 16, 20, 20}, Shape{4, 1, 3, 3}})
    for (const Layout layout : {Layout::row_major, Layout::channels_last})
      for (const DType dtype : {DType::f32, DType::f64}) {
        SCOPED_TRACE(fmt::format("{} {} {}", to_string(shape), static_cast<int>(layout), name_of(dtype)));
        const Problem problem(shape, dtype, layout, 0.5, 1e-3);
        expect_definition(problem, shape, 1e-3, dtype == DType::f32 ? 3e-7 : 1e-14);
      }
  const Problem matrix({11, 6}, DType::f64, Layout::row_major, 0.5, 1e-5);
  expect_definition(matrix, {11, 6}, 1e-5, 1e-14);
}

// With the mean 5000 deviations away, E[x²] − E[x]² in f32 would have no correct digit of the variance.
TEST(BatchNorm, VarianceSurvivesALargeMean) {
  const Shape shape{8, 6, 14, 14};
  for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
    const Problem problem(shape, DType::f32, layout, 1e4, 0);
    const auto inverse = problem.values(problem.out.inverse_deviation);
    const Problem exact(shape, DType::f64, layout, 1e4, 0);
    const auto expected = exact.values(exact.out.inverse_deviation);
    for (std::size_t c = 0; c < inverse.size(); ++c) EXPECT_NEAR(inverse[c] / expected[c], 1, 1e-6);
  }
}

struct Running {
  explicit Running(std::int32_t finite) {
    const TensorSpec two = TensorSpec::dense(DType::f64, {2});
    bn_running_update(graph.input("mean", two), graph.input("inverse", two), graph.state("rm", two, {}),
                      graph.state("rv", two, {}), graph.state("n", TensorSpec::dense(DType::i64, {}), {}),
                      graph.input("finite", TensorSpec::dense(DType::i32, {})), 5, 0.25, 0.5);
    buffers = {{"mean", to_bytes<double>({4, -8})},
               {"inverse", to_bytes<double>({1 / std::sqrt(2.5), 1 / std::sqrt(0.5)})},
               {"rm", to_bytes<double>({1, 2})},
               {"rv", to_bytes<double>({1, 2})},
               {"n", to_bytes<std::int64_t>({6})},
               {"finite", to_bytes<std::int32_t>({finite})}};
    interpret(graph, cpu_kernels(), buffers);
  }
  Graph graph;
  HostBuffers buffers;
};

// Batch variances 2 and 0, unbiased 2·5/4 and 0.
TEST(BnRunningUpdate, MovesTowardsTheUnbiasedStatistics) {
  const Running run(1);
  EXPECT_EQ(from_bytes<double>(run.buffers.at("rm")), (std::vector<double>{1.75, -0.5}));
  const auto variance = from_bytes<double>(run.buffers.at("rv"));
  EXPECT_NEAR(variance[0], 0.75 + 0.25 * 2.5, 1e-14);
  EXPECT_NEAR(variance[1], 1.5, 1e-14);
  EXPECT_EQ(from_bytes<std::int64_t>(run.buffers.at("n")), std::vector<std::int64_t>{7});
}

TEST(BnRunningUpdate, DoesNothingWhenNotFinite) {
  const Running run(0);
  EXPECT_EQ(from_bytes<double>(run.buffers.at("rm")), (std::vector<double>{1, 2}));
  EXPECT_EQ(from_bytes<double>(run.buffers.at("rv")), (std::vector<double>{1, 2}));
  EXPECT_EQ(from_bytes<std::int64_t>(run.buffers.at("n")), std::vector<std::int64_t>{6});
}

TEST(BatchNormInference, UsesTheRunningStatistics) {
  Graph graph;
  const TensorSpec one = TensorSpec::dense(DType::f64, {1});
  const Tensor y =
      batch_norm_inference(graph.input("x", TensorSpec::dense(DType::f64, {2, 1})), graph.input("g", one),
                           graph.input("b", one), graph.input("m", one), graph.input("v", one), 0.25);
  HostBuffers buffers{{"x", to_bytes<double>({3, 7})},
                      {"g", to_bytes<double>({6})},
                      {"b", to_bytes<double>({1})},
                      {"m", to_bytes<double>({5})},
                      {"v", to_bytes<double>({2})}};
  interpret(graph, cpu_kernels(), buffers);
  EXPECT_EQ(from_bytes<double>(buffers.at(y.name())), (std::vector<double>{-7, 9}));
}

}  // namespace
}  // namespace swapadvisor
