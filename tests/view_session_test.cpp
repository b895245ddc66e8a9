// Models full of views, trained within a memory limit: the planner sees whole buffers, the kernels parts of
// them.
#include <gtest/gtest.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/batched_matmul.h>
#include <swapadvisor/ops/concat.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/mul.h>
#include <swapadvisor/ops/reduce.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/slice.h>
#include <swapadvisor/ops/split.h>
#include <swapadvisor/ops/sub.h>
#include <swapadvisor/ops/transpose.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/train/session.h>
#include <swapadvisor/train/training_graph.h>

#include <cmath>

namespace swapadvisor {
namespace {

constexpr std::int64_t batch = 4, length = 6, width = 16, heads = 2;

Tensor parameter(Graph& graph, const std::string& name, const Shape& shape) {
  return graph.parameter(name, TensorSpec::dense(DType::f32, shape), Initializer::uniform_fan_in(shape));
}

/// Attention with a projection of two parameters side by side, and a gated half.
Tensor block(Graph& graph, const std::string& name, Tensor x) {
  const Tensor q = parameter(graph, name + ".q", {width, width}),
               kv = parameter(graph, name + ".kv", {2 * width, width});
  std::vector<Tensor> parts = split(linear(x, concat({q, kv}, 0), Tensor()), 3);
  for (Tensor& part : parts) part = permute(reshape(part, {batch, length, heads, -1}), {0, 2, 1, 3});
  const Tensor scores = batched_matmul(parts[0], parts[1], {.transpose_b = true, .alpha = 0.25});
  const Tensor context = batched_matmul(scores, parts[2], {.order = {0, 2, 1, 3}});
  const Tensor joined = reshape(permute(context, {0, 2, 1, 3}), {batch, length, width});
  const Tensor y = add(x, linear(joined, parameter(graph, name + ".out", {width, width}), Tensor()));
  const Tensor gate =
      graph.parameter(name + ".gate", TensorSpec::dense(DType::f32, {width / 2}), Initializer::constant(1));
  const Tensor gated = mul(slice(y, -1, 0, width / 2), gate);
  return concat({relu(contiguous(slice(y, -1, width / 2, width / 2))), gated}, -1);
}

void build(Graph& graph, bool output_gradients) {
  const TensorSpec spec = TensorSpec::dense(DType::f32, {batch, length, width});
  Tensor x = graph.input("x", spec);
  const Tensor target = graph.input("target", spec);
  for (const char* name : {"first", "second", "third"}) x = block(graph, name, x);
  const Tensor error = sub(x, target);
  minimize(mean(mul(error, error)), {.momentum = 0.5}, output_gradients);
}

std::vector<float> samples(double seed) {
  std::vector<float> x(batch * length * width);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i) + seed));
  return x;
}

void step(Session& session, int i) {
  session.step({{"x", samples(i)}, {"target", samples(i + 0.5)}, {"step.learning_rate", 0.1}});
}

std::vector<float> train(const SessionOptions& options) {
  Graph graph("views");
  build(graph, false);
  Runtime runtime({.device = {.threads = 1}});
  Session session(graph, runtime, options);
  std::vector<float> values;
  for (int i = 0; i < 4; ++i) {
    step(session, i);
    values.push_back(session.read<float>("loss")[0]);
  }
  for (const char* name : {"first.q", "first.kv", "second.out", "third.gate"}) {
    const std::vector<float> p = session.read<float>(name);
    values.insert(values.end(), p.begin(), p.end());
  }
  return values;
}

SessionOptions options(const std::string& planner, const char* limit) {
  SessionOptions result{.planner = planner, .device_spec = find_device("v100-16g"), .profile_repeats = 1};
  if (limit != nullptr) result.memory_limit = parse_size_limit(limit);
  return result;
}

TEST(ViewSession, SameBitsWithinALimit) {
  const std::vector<float> free = train(options("none", nullptr));
  EXPECT_LT(free[3], free[0]);
  for (const char* planner : {"belady", "checkpoint", "swapadvisor", "joint"})
    EXPECT_EQ(train(options(planner, "55%")), free) << planner;
}

TEST(ViewSession, GradientsThatAreSlicesAreOutputs) {
  Graph graph("views");
  build(graph, true);
  Runtime runtime({.device = {.threads = 1}});
  Session session(graph, runtime, options("none", nullptr));
  const std::vector<float> q = session.read<float>("first.q"), kv = session.read<float>("first.kv");
  step(session, 0);
  // The first step of SGD with momentum is −learning rate · gradient.
  for (const auto& [name, before] : {std::pair("first.q", q), std::pair("first.kv", kv)}) {
    const std::vector<float> after = session.read<float>(name),
                             gradient = session.read<float>(fmt::format("grad.{}", name));
    ASSERT_EQ(gradient.size(), before.size());
    double largest = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_NEAR(after[i], before[i] - 0.1F * gradient[i], 1e-6) << name << "[" << i << "]";
      largest = std::max(largest, std::abs(double{gradient[i]}));
    }
    EXPECT_GT(largest, 1e-4) << name;
  }
}

}  // namespace
}  // namespace swapadvisor
