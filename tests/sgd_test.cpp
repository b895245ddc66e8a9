#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/finite_check.h>
#include <swapadvisor/ops/sgd.h>

#include <cmath>
#include <limits>

#include "expect_error.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

/// One parameter of two elements under `options`.
struct Training {
  explicit Training(const SgdOptions& options) {
    const TensorSpec two = TensorSpec::dense(DType::f64, {2});
    const Tensor p = graph.parameter("p", two, {}), g = graph.input("g", two);
    const Tensor m = options.momentum == 0 ? Tensor() : graph.state("m", two, {});
    const Tensor finite = graph.input("finite", TensorSpec::dense(DType::i32, {}));
    sgd_update(p, g, m, graph.input("lr", TensorSpec::dense(DType::f64, {})), finite, options, "sgd/p");
    buffers = {
        {"p", to_bytes<double>({1, -2})}, {"m", to_bytes<double>({0, 0})}, {"lr", to_bytes<double>({0.1})}};
  }
  void step(const std::vector<double>& gradient, std::int32_t finite = 1) {
    buffers["g"] = to_bytes(gradient);
    buffers["finite"] = to_bytes<std::int32_t>({finite});
    interpret(graph, cpu_kernels(), buffers);
  }
  std::vector<double> parameter() const { return from_bytes<double>(buffers.at("p")); }

  Graph graph;
  HostBuffers buffers;
};

TEST(Sgd, PlainWithWeightDecay) {
  Training training({.weight_decay = 0.5});
  training.step({2, 4});
  EXPECT_DOUBLE_EQ(training.parameter()[0], 1 - 0.1 * (2 + 0.5 * 1));
  EXPECT_DOUBLE_EQ(training.parameter()[1], -2 - 0.1 * (4 + 0.5 * -2));
}

TEST(Sgd, Momentum) {
  Training training({.momentum = 0.9});
  training.step({2, 4});
  training.step({1, -1});
  const double p1 = 1 - 0.1 * 2, m2 = 0.9 * 2 + 1;
  EXPECT_DOUBLE_EQ(training.parameter()[0], p1 - 0.1 * m2);
  EXPECT_DOUBLE_EQ(from_bytes<double>(training.buffers.at("m"))[0], m2);
}

TEST(Sgd, DampeningScalesTheGradient) {
  Training training({.momentum = 0.9, .dampening = 0.25});
  training.step({2, 4});
  training.step({1, -1});
  const double m1 = 0.75 * 2, m2 = 0.9 * m1 + 0.75 * 1;
  EXPECT_DOUBLE_EQ(training.parameter()[0], 1 - 0.1 * m1 - 0.1 * m2);
}

TEST(Sgd, NesterovLooksAhead) {
  Training training({.momentum = 0.9, .weight_decay = 0.5, .nesterov = true});
  training.step({2, 4});
  const double g = 2 + 0.5 * 1;
  EXPECT_DOUBLE_EQ(training.parameter()[0], 1 - 0.1 * (g + 0.9 * g));
}

TEST(Sgd, DoesNothingWhenNotFinite) {
  Training training({.momentum = 0.9, .weight_decay = 0.5});
  training.step({2, std::numeric_limits<double>::quiet_NaN()}, 0);
  EXPECT_EQ(training.parameter(), (std::vector<double>{1, -2}));
  EXPECT_EQ(from_bytes<double>(training.buffers.at("m")), (std::vector<double>{0, 0}));
}

TEST(Sgd, UpdatesTheBuffersInPlace) {
  const Training training({.momentum = 0.9});
  const PlanGraph plan = lower(training.graph, {});
  EXPECT_NO_THROW(check(plan));
  EXPECT_EQ(plan.buffers.size(), 5U);
  EXPECT_FALSE(plan.ops[0].recomputable);
}

std::int32_t checked(std::vector<float> loss, std::int32_t flag) {
  Graph graph;
  const auto n = static_cast<std::int64_t>(loss.size());
  const Tensor x = graph.input("loss", TensorSpec::dense(DType::f32, {n}));
  finite_check(x, graph.state("flag", TensorSpec::dense(DType::i32, {}), {}));
  HostBuffers buffers{{"loss", to_bytes(loss)}, {"flag", to_bytes<std::int32_t>({flag})}};
  interpret(graph, cpu_kernels(), buffers);
  return from_bytes<std::int32_t>(buffers.at("flag"))[0];
}

TEST(FiniteCheck, FallsOnNaNAndInfinityAndStaysDown) {
  EXPECT_EQ(checked({1}, 1), 1);
  EXPECT_EQ(checked({std::numeric_limits<float>::max()}, 1), 1);
  EXPECT_EQ(checked({NAN}, 1), 0);
  EXPECT_EQ(checked({INFINITY}, 1), 0);
  EXPECT_EQ(checked({1, 2, -INFINITY}, 1), 0);
  EXPECT_EQ(checked({1}, 0), 0);
}

}  // namespace
}  // namespace swapadvisor
