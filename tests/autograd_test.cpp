#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/image_to_float.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <algorithm>

#include "expect_error.h"
#include "interpret.h"
#include "project.h"

namespace swapadvisor {
namespace {

TensorSpec doubles(const Shape& shape) {
  return TensorSpec::dense(DType::f64, shape);
}

Tensor gradient(Tensor loss, Tensor w) {
  return gradients(loss, std::vector{w})[0];
}

std::vector<double> run(const Graph& graph, Tensor result, HostBuffers buffers) {
  KernelSet kernels = cpu_kernels();
  add_project_kernels(kernels);
  interpret(graph, kernels, buffers);
  return from_bytes<double>(buffers.at(result.name()));
}

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  return names;
}

TEST(Gradients, SumOfAllUsesInAFixedOrder) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({2})), w = graph.input("w", doubles({2}));
  // y = 2x + 3x + (x + x), so every weight counts seven times.
  const Tensor two = scale(x, 2, "two"), three = scale(x, 3, "three"), five = add(two, three, "five");
  const Tensor again = add(x, x, "again"), y = add(five, again, "y");
  const Tensor dx = gradient(project(y, w, "loss"), x);
  EXPECT_EQ(run(graph, dx, {{"x", to_bytes<double>({1, 2})}, {"w", to_bytes<double>({10, -1})}}),
            (std::vector<double>{70, -7}));
  const std::vector<std::string> expected{
      "two",       "three",        "five",       "again",        "y",        "loss",        "grad/seed",
      "grad/loss", "grad/sum/x/1", "grad/three", "grad/sum/x/2", "grad/two", "grad/sum/x/3"};
  EXPECT_EQ(node_names(graph), expected);
  EXPECT_EQ(graph.nodes()[8].op->type(), "add");
  EXPECT_EQ(graph.nodes()[10].op->type(), "accumulate");
  EXPECT_EQ(graph.nodes()[12].op->type(), "accumulate");
}

// `add` hands the same tensor to both operands; summing into it in place would corrupt the other one.
TEST(Gradients, SharedContributionsAreNotUpdatedInPlace) {
  Graph graph;
  const Tensor a = graph.input("a", doubles({1})), b = graph.input("b", doubles({1})),
               w = graph.input("w", doubles({1}));
  const Tensor y = add(add(a, b, "sum"), scale(a, 4, "four"), "y");
  const auto found = gradients(project(y, w), std::vector{a, b});
  const HostBuffers buffers{
      {"a", to_bytes<double>({1})}, {"b", to_bytes<double>({1})}, {"w", to_bytes<double>({3})}};
  EXPECT_EQ(run(graph, found[0], buffers), std::vector<double>{15});
  EXPECT_EQ(run(graph, found[1], buffers), std::vector<double>{3});
}

TEST(Gradients, FlowThroughViews) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({2, 3})), w = graph.input("w", doubles({3, 2})),
               v = graph.input("v", doubles({6}));
  const Tensor tall = graph.reshape(x, {3, 2}), flat = graph.reshape(tall, {6});
  const Tensor loss = add(add(project(tall, w), project(flat, v)), project(scale(tall, 2), w));
  const auto found = gradients(loss, std::vector{x, tall});
  EXPECT_EQ(found[0].shape(), x.shape());
  const HostBuffers buffers{{"x", to_bytes(std::vector<double>(6, 1))},
                            {"w", to_bytes<double>({1, 2, 3, 4, 5, 6})},
                            {"v", to_bytes<double>({10, 20, 30, 40, 50, 60})}};
  const std::vector<double> expected{13, 26, 39, 52, 65, 78};
  EXPECT_EQ(run(graph, found[0], buffers), expected);
  EXPECT_EQ(run(graph, found[1], buffers), expected);
}

TEST(Gradients, OnlyWhatIsNeededIsComputed) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({4, 3})), gamma = graph.parameter("gamma", doubles({3}), {}),
               w = graph.input("w", doubles({4, 3}));
  const Tensor before = relu(x, "before"), normal = batch_norm(before, gamma, gamma, 1e-5, "bn").y;
  const Tensor middle = relu(normal, "middle");
  relu(middle, "unused");
  const Tensor loss = project(relu(middle, "after"), w, "loss");
  const auto found = gradients(loss, std::vector{middle});
  EXPECT_TRUE(found[0]);
  const auto names = node_names(graph);
  const auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(has("grad/after"));
  for (const char* name : {"grad/middle", "grad/bn", "grad/before", "grad/unused"})
    EXPECT_FALSE(has(name)) << name;
}

TEST(Gradients, AbsentWhereTheLossDoesNotDepend) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({2})), w = graph.input("w", doubles({2})),
               other = graph.parameter("other", doubles({2}), {});
  const Tensor loss = project(x, w, "loss");
  const Tensor later = relu(x, "later");
  const auto found = gradients(loss, std::vector{other, later, Tensor()});
  for (const Tensor& g : found) EXPECT_FALSE(g);
  EXPECT_EQ(graph.nodes().size(), 2U);
}

TEST(Gradients, OfTheLossItselfIsOne) {
  Graph graph;
  const Tensor loss = scale(graph.input("x", doubles({})), 2);
  EXPECT_EQ(run(graph, gradient(loss, loss), {{"x", to_bytes<double>({5})}}), std::vector<double>{1});
}

TEST(Gradients, StopAtIntegers) {
  Graph graph;
  const Tensor bytes = graph.input("x", TensorSpec::dense(DType::u8, {1, 1, 2, 2}));
  const Tensor image = image_to_float(bytes, DType::f64, Layout::row_major, {0.5}, {0.25}, "image");
  const Tensor w = graph.input("w", image.spec());
  const auto found = gradients(project(image, w, "loss"), std::vector{bytes, image});
  EXPECT_FALSE(found[0]);
  EXPECT_TRUE(found[1]);
}

TEST(Gradients, KeepTheTypeOfEachTensor) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {3}));
  const Tensor wide = cast(x, DType::f64, "wide");
  const Tensor dx = gradient(project(wide, graph.input("w", doubles({3}))), x);
  EXPECT_EQ(dx.dtype(), DType::f32);
}

// Micro-batches of gradient accumulation: several losses over the same parameters.
TEST(Gradients, SecondCallUsesItsOwnNames) {
  Graph graph;
  const Tensor p = graph.parameter("p", doubles({2}), {}), w = graph.input("w", doubles({2}));
  const Tensor h = scale(p, 3, "h");
  const Tensor first = gradient(project(h, w, "loss1"), p),
               second = gradient(project(scale(h, 2), w, "loss2"), p);
  EXPECT_EQ(first.name(), "grad/h");
  EXPECT_EQ(second.name(), "grad2/h");
  const Tensor sum = accumulate(second, first);
  const HostBuffers buffers{{"p", to_bytes<double>({1, 1})}, {"w", to_bytes<double>({1, 10})}};
  EXPECT_EQ(run(graph, sum, buffers), (std::vector<double>{9, 90}));
}

TEST(Gradients, RefuseWhatIsNotALoss) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({2})), n = graph.input("n", TensorSpec::dense(DType::i64, {}));
  expect_error([&] { gradient(x, x); }, "one f32 or f64 element, got f64[2]");
  expect_error([&] { gradient(n, x); }, "got i64[]");
  expect_error([&] { gradient(Tensor(), x); }, "got nothing");
}

TEST(Gradients, NameTheOpWithoutAGradient) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({4, 3})), c = graph.parameter("c", doubles({3}), {});
  const Tensor y = batch_norm_inference(x, c, c, c, c, 1e-5, "bn");
  const Tensor loss = project(y, graph.input("w", y.spec()));
  expect_error([&] { gradient(loss, x); }, "[batch_norm_inference grad/bn] has no gradient");
  const Tensor mean = batch_norm(x, c, c, 1e-5, "train").mean;
  const Tensor of_mean = project(mean, graph.input("v", mean.spec()));
  expect_error([&] { gradient(of_mean, x); }, "has no gradient through its batch statistics");
}

TEST(Gradients, RefuseToReadOverwrittenValues) {
  Graph graph;
  const Tensor s = graph.state("s", doubles({2, 3}), {}), x = graph.input("x", doubles({2, 3}));
  const Tensor labels = graph.input("labels", TensorSpec::dense(DType::i32, {2}));
  const Tensor loss = softmax_cross_entropy(s, labels);
  accumulate(s, x, "step");
  expect_error([&] { gradient(loss, s); }, "reads 's' as it was before 'step' overwrote it");
}

}  // namespace
}  // namespace swapadvisor
