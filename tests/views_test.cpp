// Views: what they show, what they refuse, and the shape of their gradients.
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/concat.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/slice.h>
#include <swapadvisor/ops/split.h>
#include <swapadvisor/ops/transpose.h>

#include <numeric>

#include "expect_error.h"
#include "interpret.h"
#include "project.h"

namespace swapadvisor {
namespace {

TensorSpec doubles(const Shape& shape) {
  return TensorSpec::dense(DType::f64, shape);
}

/// What `y` holds when the only input holds 0, 1, 2, ….
std::vector<double> values_of(const Graph& graph, Tensor y) {
  HostBuffers buffers;
  for (const Buffer& buffer : graph.buffers()) {
    if (buffer.kind != BufferKind::input) continue;
    std::vector<double> numbers(static_cast<std::size_t>(buffer.spec.numel()));
    std::iota(numbers.begin(), numbers.end(), 0);
    buffers[buffer.name] = to_bytes(numbers);
  }
  KernelSet kernels = cpu_kernels();
  add_project_kernels(kernels);
  interpret(graph, kernels, buffers);
  return from_bytes<double>(buffers.at(y.name()));
}

std::vector<std::string> gradient_types(const Graph& graph) {
  std::vector<std::string> types;
  for (const Node& node : graph.nodes())
    if (node.name.starts_with("grad/")) types.emplace_back(node.op->type());
  return types;
}

const TensorInfo& info_of(const Tensor& tensor) {
  return tensor.graph().tensors()[static_cast<std::size_t>(tensor.id())];
}

TEST(Reshaped, FollowsTheRunsOfTheMemory) {
  const TensorSpec x = doubles({2, 3, 4});
  EXPECT_EQ(reshaped(x, {6, 4})->strides, (Shape{4, 1}));
  EXPECT_FALSE(reshaped(x, {5, 5}));
  // The last dimension of a column block is one run, so it can be cut, but not joined to the rows.
  const TensorSpec block{DType::f64, {5, 6}, {10, 1}};
  EXPECT_EQ(reshaped(block, {5, 2, 3})->strides, (Shape{10, 3, 1}));
  EXPECT_EQ(reshaped(block, {1, 5, 1, 6})->strides[1], 10);
  EXPECT_FALSE(reshaped(block, {30}));
  const TensorSpec transposed{DType::f64, {6, 5}, {1, 6}};
  EXPECT_FALSE(reshaped(transposed, {30}));
  EXPECT_EQ(reshaped(transposed, {2, 3, 5})->strides, (Shape{3, 1, 6}));
  const TensorSpec joined{DType::f64, {4, 3, 2}, {1, 8, 4}};
  EXPECT_EQ(reshaped(joined, {4, 6})->strides, (Shape{1, 4}));
}

TEST(Views, ShareTheBufferAndSayWhere) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({4, 6}));
  const Tensor columns = slice(x, -1, 2, 3), turned = transpose(columns);
  EXPECT_EQ(turned.shape(), (Shape{3, 4}));
  EXPECT_EQ(turned.spec().strides, (Shape{1, 6}));
  EXPECT_EQ(turned.name(), "x");
  EXPECT_EQ(info_of(turned).byte_offset, 2 * 8);
  EXPECT_EQ(info_of(turned).base, columns.id());
  const Tensor inner = slice(turned, 1, 3, 1);
  EXPECT_EQ(info_of(inner).byte_offset, (2 + 3 * 6) * 8);
  EXPECT_EQ(graph.buffers().size(), 1U);
  // No view where there is nothing to do.
  EXPECT_EQ(slice(x, 0, 0, 4).id(), x.id());
  EXPECT_EQ(permute(x, {0, 1}).id(), x.id());
  EXPECT_EQ(reshape(x, {4, -1}).id(), x.id());
  EXPECT_EQ(contiguous(x).id(), x.id());
  EXPECT_EQ(concat({x}, 0).id(), x.id());
}

TEST(Views, ShowTheRightElements) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({2, 3, 4}));
  const Tensor y = contiguous(permute(slice(x, 2, 1, 2), {2, 0, 1}));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(values_of(graph, y), (std::vector<double>{1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22}));
}

TEST(Views, ConcatPutsTensorsSideBySide) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({2, 3}));
  const Tensor y = concat({x, transpose(reshape(x, {3, 2})), slice(x, 1, 2, 1)}, 1);
  EXPECT_EQ(values_of(graph, y), (std::vector<double>{0, 1, 2, 0, 2, 4, 2, 3, 4, 5, 1, 3, 5, 5}));
}

TEST(Views, ConcatKeepsChannelsLast) {
  Graph graph;
  const TensorSpec nhwc = TensorSpec::dense(DType::f32, {2, 3, 4, 5}, Layout::channels_last);
  const Tensor a = graph.input("a", nhwc), b = graph.input("b", TensorSpec::dense(DType::f32, {2, 3, 4, 5}));
  EXPECT_TRUE(concat({a, a}, 1).spec().is_channels_last());
  EXPECT_TRUE(concat({a, b}, 1).spec().is_row_major());
}

TEST(Views, CopiesKeepThePhysicalOrder) {
  Graph graph;
  const Tensor nhwc = graph.input("x", TensorSpec::dense(DType::f32, {2, 3, 4, 5}, Layout::channels_last));
  EXPECT_EQ(physical_order(nhwc.spec()), (Shape{0, 2, 3, 1}));
  EXPECT_EQ(copy(nhwc).spec(), nhwc.spec());
  EXPECT_EQ(contiguous_unless_dense(nhwc).id(), nhwc.id());
  EXPECT_TRUE(contiguous(nhwc).spec().is_row_major());
  const Tensor channels = slice(nhwc, 1, 0, 2);
  EXPECT_FALSE(is_dense(channels.spec()));
  EXPECT_TRUE(contiguous_unless_dense(channels).spec().is_row_major());
}

TEST(Views, ReshapeCopiesOnlyWhereItMust) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({4, 6}));
  EXPECT_EQ(reshape(slice(x, 1, 0, 4), {4, 2, 2}).name(), "x");
  EXPECT_TRUE(graph.nodes().empty());
  EXPECT_EQ(reshape(transpose(x), {24}, "turned").name(), "turned");
  EXPECT_EQ(graph.nodes().size(), 1U);
}

TEST(Views, GradientsOfASplitAreOneOp) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({3, 4})), w = graph.input("w", doubles({3, 2}));
  const std::vector<Tensor> halves = split(x, 2);
  const Tensor loss = add(project(contiguous(halves[1]), w), project(contiguous(halves[0]), w));
  const Tensor dx = gradients(loss, std::vector{x})[0];
  EXPECT_EQ(gradient_types(graph), (std::vector<std::string>{"fill", "test_project_backward",
                                                             "test_project_backward", "slice_backward"}));
  EXPECT_EQ(values_of(graph, dx), (std::vector<double>{0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5}));
}

TEST(Views, GradientOfOneSliceIsZeroBesideIt) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({3, 4})), w = graph.input("w", doubles({3, 2}));
  const Tensor dx = gradients(project(contiguous(slice(x, 1, 1, 2)), w), std::vector{x})[0];
  EXPECT_EQ(dx.name(), "grad/slices/x/1");
  EXPECT_EQ(values_of(graph, dx), (std::vector<double>{0, 0, 1, 0, 0, 2, 3, 0, 0, 4, 5, 0}));
}

TEST(Views, GradientsPassThroughTransposesWithoutCopies) {
  Graph graph;
  const Tensor p = graph.input("p", doubles({2, 3})), w = graph.input("w", doubles({3, 2}));
  const Tensor loss = project(contiguous(transpose(scale(p, 2))), w);
  const Tensor dp = gradients(loss, std::vector{p})[0];
  // One copy: `scale` walks its operands in memory order.
  EXPECT_EQ(gradient_types(graph),
            (std::vector<std::string>{"fill", "test_project_backward", "contiguous", "scale"}));
  EXPECT_EQ(values_of(graph, dp), (std::vector<double>{0, 4, 8, 2, 6, 10}));
}

TEST(Views, GradientOfAConcatIsASlice) {
  Graph graph;
  const Tensor a = graph.input("a", doubles({2, 3})), b = graph.input("b", doubles({1, 3}));
  const Tensor y = concat({a, b}, 0);
  const auto found = gradients(project(y, graph.input("w", doubles({3, 3}))), std::vector{a, b});
  EXPECT_EQ(found[0].name(), found[1].name());
  EXPECT_EQ(info_of(found[1]).byte_offset, 6 * 8);
  EXPECT_EQ(graph.nodes().size(), 4U);
}

TEST(Views, AnOpMayNotUpdateOrReadThemWrongly) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({4, 6}));
  expect_error([&] { relu(transpose(x), "r"); },
               "[relu r] x must be dense, row major or channels-last, got f64[6, 4]");
  expect_error([&] { relu(slice(x, 1, 0, 2), "r"); }, "x must be dense");
}

TEST(Views, RefuseWhatIsNotThere) {
  Graph graph;
  const Tensor x = graph.input("x", doubles({4, 6}));
  expect_error([&] { slice(x, 2, 0, 1); }, "f64[4, 6] has no dimension 2");
  expect_error([&] { slice(x, -3, 0, 1); }, "has no dimension -3");
  expect_error([&] { slice(x, 1, 4, 3); }, "cannot take 3 elements from 4 on of dimension 1 of f64[4, 6]");
  expect_error([&] { slice(x, 1, -1, 2); }, "cannot take 2 elements from -1 on");
  expect_error([&] { slice(x, 1, 0, 0); }, "cannot take 0 elements");
  expect_error([&] { permute(x, {0, 0}); }, "cannot order the dimensions of f64[4, 6] as [0, 0]");
  expect_error([&] { permute(x, {0, 1, 2}); }, "cannot order");
  expect_error([&] { permute(x, {0, 2}); }, "cannot order");
  expect_error([&] { transpose(x, 0, 2); }, "has no dimension 2");
  expect_error([&] { reshape(x, {5, -1}); }, "[5, -1] has a dimension below 1");
  expect_error([&] { reshape(x, {5, 5}); }, "cannot reshape f64[4, 6] to [5, 5]");
  expect_error([&] { reshape(x, {-1, -1}); }, "below 1");
  expect_error([&] { split(x, 4); }, "cannot split dimension 1 of f64[4, 6] into 4 equal parts");
  expect_error([&] { split(x, 0); }, "into 0 equal parts");
  expect_error(
      [&] {
        split(x, std::vector<std::int64_t>{1, 2}, 0);
      },
      "the parts of dimension 0 of f64[4, 6] add up to 3");
  expect_error([&] { concat({}, 0, "c"); }, "[concat c] needs at least one tensor");
  const Tensor y = graph.input("y", doubles({3, 6}));
  expect_error(
      [&] {
        concat({x, y}, 1, "c");
      },
      "[concat c] tensor 1 is f64[3, 6], which does not continue f64[4, 6] along dimension 1");
  expect_error([&] { concat({x, y}, 2, "c"); }, "has no dimension 2");
  expect_error(
      [&] {
        slice_backward({y, y}, doubles({8, 6}), 0, {0, 2}, "s");
      },
      "[slice_backward s] slice 1 starts at 2, before the one in front of it ends at 3");
  expect_error([&] { slice_backward({y}, doubles({8, 6}), 0, {6}, "s"); }, "the last slice ends at 9 of 8");
  expect_error(
      [&] {
        slice_backward({y}, doubles({8, 7}), 0, {0}, "s");
      },
      "slice 0 of dimension 0 of f64[8, 7] is");
}

}  // namespace
}  // namespace swapadvisor
