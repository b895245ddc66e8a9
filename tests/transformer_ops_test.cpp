// Layer norm, softmax, embedding and shifted labels by hand, and what they refuse.
#include <gtest/gtest.h>
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/embedding.h>
#include <swapadvisor/ops/layer_norm.h>
#include <swapadvisor/ops/shift_labels.h>
#include <swapadvisor/ops/softmax.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <cmath>
#include <limits>

#include "expect_error.h"
#include "interpret.h"
#include "project.h"

namespace swapadvisor {
namespace {

class TransformerOps : public testing::Test {
 protected:
  Tensor input(DType dtype, const Shape& shape) {
    return graph.input(fmt::format("in{}", graph.buffers().size()), TensorSpec::dense(dtype, shape));
  }
  template <class T>
  Tensor given(const Shape& shape, const std::vector<T>& values) {
    const Tensor tensor = input(dtype_of<T>, shape);
    buffers[tensor.name()] = to_bytes(values);
    return tensor;
  }
  Tensor f32(const Shape& shape) { return input(DType::f32, shape); }
  Tensor i32(const Shape& shape) { return input(DType::i32, shape); }

  void run() {
    KernelSet kernels = cpu_kernels();
    add_project_kernels(kernels);
    interpret(graph, kernels, buffers);
  }
  template <class T>
  std::vector<T> read(Tensor tensor) {
    return from_bytes<T>(buffers.at(tensor.name()));
  }

  Graph graph;
  HostBuffers buffers;
};

TEST_F(TransformerOps, LayerNormHasMeanZeroAndVarianceOne) {
  const Tensor x = given<double>({2, 4}, {1, 2, 3, 6, -1, -1, 1, 1});
  const Tensor weight = given<double>({4}, {1, 2, 1, 1}), bias = given<double>({4}, {0, 0, 0, 5});
  const LayerNormOutput out = layer_norm(x, weight, bias, 0);
  run();
  const double inverse = 1 / std::sqrt(3.5);  // squares 4 + 1 + 0 + 9 over 4
  const std::vector<double> expected{-2 * inverse, -2 * inverse, 0, 3 * inverse + 5, -1, -2, 1, 6};
  const std::vector<double> y = read<double>(out.y);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-15) << i;
  EXPECT_EQ(read<double>(out.mean), (std::vector<double>{3, 0}));
  EXPECT_NEAR(read<double>(out.inverse_deviation)[0], inverse, 1e-15);
}

TEST_F(TransformerOps, LayerNormOfAConstantRowIsTheBias) {
  const Tensor x = given<float>({1, 3}, {7, 7, 7});
  const Tensor weight = given<float>({3}, {1, 1, 1}), bias = given<float>({3}, {1, -2, 3});
  const Tensor y = layer_norm(x, weight, bias).y;
  run();
  EXPECT_EQ(read<float>(y), (std::vector<float>{1, -2, 3}));
}

TEST_F(TransformerOps, LayerNormRefuses) {
  expect_error(
      [&] {
        layer_norm(f32({2, 3}), f32({4}), f32({3}), 1e-5, "ln");
      },
      "[layer_norm ln] weight must be f32[3], got f32[4]");
  expect_error(
      [&] {
        layer_norm(f32({2, 3}), f32({3}), input(DType::f64, {3}), 1e-5, "ln");
      },
      "[layer_norm ln] bias must be f32[3], got f64[3]");
  expect_error([&] { layer_norm(f32({}), f32({1}), f32({1}), 1e-5, "ln"); },
               "[layer_norm ln] x must be [..., features] in row-major order, got f32[]");
  expect_error([&] { layer_norm(f32({3}), f32({3}), f32({3}), -1, "ln"); },
               "[layer_norm ln] epsilon must not be negative, got -1");
}

TEST_F(TransformerOps, SoftmaxDoesNotOverflow) {
  const Tensor y = softmax(given<float>({2, 3}, {3e4F, -3e4F, 3e4F, -3e38F, -3e38F, -3e38F}));
  run();
  EXPECT_EQ(read<float>(y), (std::vector<float>{0.5F, 0, 0.5F, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F}));
}

TEST_F(TransformerOps, SoftmaxSeesOnlyWhatMaskAndOrderAllow) {
  const double nan = std::nan("");
  // What is not seen may be anything, NaN included.
  const Tensor x = given<double>({2, 2, 3}, {0, nan, nan, 1, 1, nan, 5, nan, 2, nan, nan, 2});
  const Tensor mask = given<std::int32_t>({2, 3}, {1, 1, 1, 0, 0, 1});
  const Tensor y = softmax(x, {.causal = true}, mask);
  run();
  // Two queries, three keys: query 0 sees keys 0 and 1.
  const std::vector<double> found = read<double>(y);
  EXPECT_TRUE(std::isnan(found[0]));  // key 1 is seen by query 0 of sample 0
  EXPECT_EQ((std::vector<double>(found.begin() + 6, found.end())), (std::vector<double>{0, 0, 0, 0, 0, 1}));
}

TEST_F(TransformerOps, SoftmaxGivesNaNForNaN) {
  for (const std::size_t at : {0U, 5U, 32U, 34U}) {
    std::vector<float> scores(35, 0.5F);
    scores[at] = std::nanf("");
    const Tensor y = softmax(given<float>({35}, scores));
    const Tensor all = softmax(given<float>({2}, {std::nanf(""), std::nanf("")}));
    run();
    EXPECT_TRUE(std::isnan(read<float>(y)[1])) << at;
    EXPECT_TRUE(std::isnan(read<float>(all)[0]));
  }
}

TEST_F(TransformerOps, SoftmaxRefuses) {
  expect_error([&] { softmax(f32({}), {}, {}, "s"); }, "[softmax s] scores must be [..., keys]");
  expect_error([&] { softmax(i32({3}), {}, {}, "s"); }, "[softmax s] scores must be f32 or f64, got i32[3]");
  expect_error(
      [&] {
        softmax(f32({4, 3}), {.causal = true}, {}, "s");
      },
      "with no more queries than keys, got f32[4, 3]");
  expect_error([&] { softmax(f32({3}), {.scale = 1.0 / 0.0}, {}, "s"); },
               "the scale must be finite, got inf");
  for (const Shape& shape : {Shape{2, 4}, Shape{3, 5}, Shape{5}})
    expect_error(
        [&] {
          softmax(f32({2, 3, 5}), {}, i32(shape), "s");
        },
        "[softmax s] the key mask must be i32 [samples, keys], fitting scores f32[2, 3, 5], got i32");
  expect_error([&] { softmax(f32({2, 3, 5}), {}, f32({2, 5}), "s"); }, "got f32[2, 5]");
}

TEST_F(TransformerOps, EmbeddingLooksUpRowsAndSumsTheirGradients) {
  const Tensor ids = given<std::int32_t>({2, 2}, {2, 0, 2, 1});
  const Tensor weight = given<double>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor y = embedding(ids, weight, 1);
  const Tensor loss = project(y, given<double>({2, 2, 2}, {1, 10, 2, 20, 4, 40, 8, 80}));
  const Tensor dweight = gradients(loss, std::vector{weight})[0];
  run();
  EXPECT_EQ(read<double>(y), (std::vector<double>{5, 6, 1, 2, 5, 6, 3, 4}));
  // Row 1 is the padding row; row 3 is never looked up.
  EXPECT_EQ(read<double>(dweight), (std::vector<double>{2, 20, 0, 0, 5, 50, 0, 0}));
}

TEST_F(TransformerOps, IdsOutsideTheTableGiveNaN) {
  const Tensor ids = given<std::int32_t>({4}, {-1, 2, 1, std::numeric_limits<std::int32_t>::max()});
  const Tensor weight = given<float>({2, 1}, {1, 2});
  const Tensor y = embedding(ids, weight);
  const Tensor loss = project(y, given<float>({4, 1}, {1, 1, 1, 1}));
  const Tensor dweight = gradients(loss, std::vector{weight})[0];
  run();
  const std::vector<float> found = read<float>(y);
  for (const std::size_t i : {0U, 1U, 3U}) EXPECT_TRUE(std::isnan(found[i])) << i;
  EXPECT_EQ(found[2], 2);
  EXPECT_TRUE(std::isnan(read<float>(loss)[0]));
  EXPECT_EQ(read<float>(dweight), (std::vector<float>{0, 1}));
}

TEST_F(TransformerOps, EmbeddingRefuses) {
  expect_error([&] { embedding(f32({3}), f32({4, 2}), -1, "e"); }, "[embedding e] ids must be i32");
  expect_error([&] { embedding(i32({3}), f32({4}), -1, "e"); },
               "[embedding e] weight must be [rows, features] in row-major order, got f32[4]");
  expect_error([&] { embedding(i32({3}), i32({4, 2}), -1, "e"); }, "weight must be f32 or f64");
  expect_error(
      [&] {
        embedding(i32({3}), f32({4, 2}), 4, "e");
      },
      "the padding row is 4, but weight has 4 rows");
  expect_error(
      [&] {
        embedding(i32({1, 1, 1, 1, 1, 1, 1, 1}), f32({4, 2}), -1, "e");
      },
      "with at most 7 dimensions");
}

TEST_F(TransformerOps, ShiftedLabelsAreTheNextTokens) {
  const Tensor y = shift_labels(given<std::int32_t>({2, 3}, {1, 2, 3, 4, ignored_label, 6}));
  run();
  EXPECT_EQ(read<std::int32_t>(y),
            (std::vector<std::int32_t>{2, 3, ignored_label, ignored_label, 6, ignored_label}));
  expect_error([&] { shift_labels(i32({6}), "s"); },
               "[shift_labels s] labels must be i32 [samples, positions] in row-major order, got i32[6]");
}

}  // namespace
}  // namespace swapadvisor
