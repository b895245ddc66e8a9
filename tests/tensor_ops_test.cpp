// Batched products, broadcasting and reductions: values, copies that must not be there, and errors.
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/batched_matmul.h>
#include <swapadvisor/ops/broadcast.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/matmul.h>
#include <swapadvisor/ops/mul.h>
#include <swapadvisor/ops/reduce.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/split.h>
#include <swapadvisor/ops/sub.h>
#include <swapadvisor/ops/transpose.h>

#include <limits>
#include <set>

#include "expect_error.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

class TensorOps : public testing::Test {
 protected:
  Tensor input(const Shape& shape, DType dtype = DType::f64) {
    return graph.input(fmt::format("in{}", graph.buffers().size()), TensorSpec::dense(dtype, shape));
  }
  /// What `y` holds, inputs in the order they were made.
  std::vector<double> run(Tensor y, const std::vector<std::vector<double>>& inputs) {
    HostBuffers buffers;
    std::size_t at = 0;
    for (const Buffer& buffer : graph.buffers())
      if (buffer.kind == BufferKind::input) buffers[buffer.name] = to_bytes(inputs.at(at++));
    interpret(graph, cpu_kernels(), buffers);
    return from_bytes<double>(buffers.at(y.name()));
  }

  Graph graph;
};

TEST_F(TensorOps, BatchedMatmulMultipliesEachBatch) {
  const Tensor a = input({2, 1, 2}), b = input({2, 2, 2});
  const Tensor y = batched_matmul(a, b, {.alpha = 10}), z = batched_matmul(a, b, {.transpose_b = true});
  const std::vector<std::vector<double>> values{{1, 2, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_EQ(run(y, values), (std::vector<double>{70, 100, 430, 500}));
  EXPECT_EQ(run(z, values), (std::vector<double>{5, 11, 39, 53}));
}

TEST_F(TensorOps, BatchedMatmulWritesInTheOrderAsked) {
  const Tensor a = input({2, 2, 1}), b = input({2, 1, 2});
  const Tensor y = batched_matmul(a, b, {.order = {1, 0, 2}});
  EXPECT_EQ(y.spec().strides, (Shape{2, 4, 1}));
  EXPECT_EQ(run(y, {{1, 2, 3, 4}, {1, 10, 1, 10}}), (std::vector<double>{1, 10, 3, 30, 2, 20, 4, 40}));
}

// The point of strided operands: heads are cut, multiplied and joined where they lie, backwards too.
TEST_F(TensorOps, AttentionAndItsGradientCopyNothing) {
  const std::int64_t n = 2, t = 5, h = 3, d = 4;
  const Tensor x = input({n, t, h * d}), weight = input({3 * h * d, h * d}), out = input({h * d, h * d});
  std::vector<Tensor> heads = split(linear(x, weight, Tensor()), 3);
  for (Tensor& head : heads) head = permute(reshape(head, {n, t, h, d}), {0, 2, 1, 3});
  const Tensor scores = batched_matmul(heads[0], heads[1], {.transpose_b = true, .alpha = 0.5});
  const Tensor context = batched_matmul(scores, heads[2], {.order = {0, 2, 1, 3}});
  const Tensor joined = reshape(permute(context, {0, 2, 1, 3}), {n, t, h * d});
  const Tensor y = linear(joined, out, Tensor());
  gradients(sum(y), std::vector{x, weight, out});
  std::multiset<std::string> types;
  for (const Node& node : graph.nodes()) types.emplace(node.op->type());
  EXPECT_EQ(types.count("contiguous"), 0U);
  EXPECT_EQ(types.count("slice_backward"), 1U);
  EXPECT_EQ(types.count("batched_matmul"), 6U);
}

TEST_F(TensorOps, TransposedViewsAreMultipliedWhereTheyLie) {
  const Tensor a = input({2, 3}), b = input({2, 4});
  const Tensor y = matmul(transpose(a), b);
  EXPECT_EQ(y.shape(), (Shape{3, 4}));
  EXPECT_EQ(graph.nodes().size(), 1U);
}

TEST_F(TensorOps, BroadcastShapes) {
  EXPECT_EQ(broadcast_shape({3, 1, 4}, {2, 1}), (Shape{3, 2, 4}));
  EXPECT_EQ(broadcast_shape({}, {2, 3}), (Shape{2, 3}));
  EXPECT_FALSE(broadcast_shape({2, 3}, {2}));
  EXPECT_TRUE(are_broadcast({2, 3}, {3}));
  EXPECT_FALSE(are_broadcast({2, 3}, {2, 3}));
}

TEST_F(TensorOps, BroadcastValues) {
  const Tensor a = input({2, 1, 2}), b = input({3, 1});
  const std::vector<std::vector<double>> values{{1, 2, 3, 4}, {10, 20, 30}};
  const Tensor sum = add(a, b), difference = sub(b, a), product = mul(a, b);
  EXPECT_EQ(run(sum, values), (std::vector<double>{11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34}));
  EXPECT_EQ(run(difference, values), (std::vector<double>{9, 8, 19, 18, 29, 28, 7, 6, 17, 16, 27, 26}));
  EXPECT_EQ(run(product, values), (std::vector<double>{10, 20, 20, 40, 30, 60, 30, 40, 60, 80, 90, 120}));
}

TEST_F(TensorOps, Reductions) {
  const Tensor x = input({2, 3});
  const std::vector<std::vector<double>> values{{1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(sum(x).shape(), Shape{});
  EXPECT_EQ(sum(x, {0}, true).shape(), (Shape{1, 3}));
  EXPECT_EQ(run(sum(x), values), std::vector<double>{21});
  EXPECT_EQ(run(sum(x, {0}), values), (std::vector<double>{5, 7, 9}));
  EXPECT_EQ(run(mean(x, {-1}), values), (std::vector<double>{2, 5}));
  EXPECT_EQ(run(sum_to(x, {1, 1}), values), std::vector<double>{21});
  EXPECT_EQ(sum_to(x, {2, 3}).id(), x.id());
}

TEST_F(TensorOps, BatchedMatmulErrors) {
  const Tensor a = input({2, 3, 4});
  const auto product = [&](Tensor x, Tensor y, const BatchedMatmulOptions& options = {}) {
    batched_matmul(x, y, options, "bmm");
  };
  expect_error(
      [&] {
        product(a, input({3, 4, 5}));
      },
      "[batched_matmul bmm] the batches of a f64[2, 3, 4] and b f64[3, 4, 5] differ");
  expect_error([&] { product(a, input({1, 2, 4, 5})); }, "differ");
  expect_error([&] { product(a, input({2, 5, 4})); }, "b expects an inner dimension of 5, got 4");
  expect_error([&] { product(a, input({2, 4, 5}, DType::f32)); }, "a is f64 but b is f32");
  expect_error([&] { product(input({3, 4}), a); }, "a must be [batch…, rows, columns], got f64[3, 4]");
  expect_error([&] { product(input({2, 3, 4}, DType::i32), a); }, "a must be f32 or f64");
  const Tensor b = input({2, 4, 5});
  expect_error([&] { product(a, b, {.alpha = std::numeric_limits<double>::infinity()}); },
               "alpha must be finite");
  expect_error(
      [&] {
        product(a, b, {.order = {0, 1}});
      },
      "the order [0, 1] is no permutation of 3 dimensions");
  expect_error([&] { product(a, b, {.order = {0, 1, 1}}); }, "no permutation");
  expect_error([&] { product(a, b, {.order = {1, 2, 0}}); }, "keeps neither rows nor columns contiguous");
  expect_error([&] { product(a, input({4, 5}), {.order = {0, 1, 2}}); }, "takes no order of the result");
  expect_error([&] { product(a, input({5, 4})); }, "b expects an inner dimension of 5, got 4");
}

TEST_F(TensorOps, BroadcastAndReduceErrors) {
  const Tensor x = input({2, 3});
  expect_error(
      [&] {
        mul(x, input({2, 4}), "m");
      },
      "[mul m] a is f64[2, 3] but b is f64[2, 4]; they must be alike");
  expect_error([&] { sub(x, input({3, 3}), "s"); }, "[sub s] a is f64[2, 3] but b is f64[3, 3]");
  expect_error([&] { mul(x, input({3}, DType::f32), "m"); },
               "[broadcast_mul m] a is f64[2, 3] but b is f32[3]; they cannot be broadcast");
  expect_error([&] { add(input({2, 1}, DType::i64), input({3}, DType::i64), "a"); }, "a must be f32 or f64");
  expect_error(
      [&] {
        broadcast_to(x, {2, 4}, "b");
      },
      "[broadcast_to b] f64[2, 3] cannot be broadcast to [2, 4]");
  expect_error([&] { broadcast_to(x, {3}, "b"); }, "cannot be broadcast to [3]");
  expect_error([&] { sum_to(x, {2}, "s"); }, "[sum s] f64[2, 3] cannot be summed to [2]");
  expect_error([&] { sum(x, {2}); }, "f64[2, 3] has no dimension 2");
  expect_error([&] { sum(x, {1, -1}, false, "s"); }, "[sum s] a dimension of f64[2, 3] is named twice");
  expect_error([&] { mean(input({2}, DType::i32), {}, false, "m"); }, "[mean m] x must be f32 or f64");
}

}  // namespace
}  // namespace swapadvisor
