// What shape inference refuses, and in which words.
#include <swapadvisor/ops/adam.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/correct_count.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/ops/fill.h>
#include <swapadvisor/ops/finite_check.h>
#include <swapadvisor/ops/image_to_float.h>
#include <swapadvisor/ops/label_count.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/sgd.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <functional>

#include "expect_error.h"

namespace swapadvisor {
namespace {

class OpErrors : public testing::Test {
 protected:
  Tensor input(DType dtype, const Shape& shape, Layout layout = Layout::row_major) {
    return graph.input(fmt::format("in{}", graph.buffers().size()), TensorSpec::dense(dtype, shape, layout));
  }
  Tensor state(DType dtype, const Shape& shape) {
    return graph.state(fmt::format("in{}", graph.buffers().size()), TensorSpec::dense(dtype, shape), {});
  }
  Tensor f32(const Shape& shape) { return input(DType::f32, shape); }
  Tensor i32(const Shape& shape) { return input(DType::i32, shape); }

  Graph graph;
};

TEST_F(OpErrors, ZeroSizes) {
  expect_error([&] { f32({2, 0}); }, "dimension below 1");
}

TEST_F(OpErrors, ElementwiseOps) {
  expect_error([&] { relu(i32({3}), "r"); }, "[relu r] x must be f32 or f64, got i32[3]");
  expect_error([&] { add(f32({3}), f32({4}), "a"); }, "[add a] a is f32[3] but b is f32[4]");
  expect_error([&] { add(f32({3}), input(DType::f64, {3}), "a"); }, "b is f64[3]");
  expect_error(
      [&] {
        add(f32({1, 2, 3, 4}), input(DType::f32, {1, 2, 3, 4}, Layout::channels_last), "a");
      },
      "b is f32[1, 2, 3, 4]:nhwc; they must be alike");
  expect_error([&] { accumulate(state(DType::f32, {3}), f32({4}), "acc"); },
               "[accumulate acc] sum is f32[3]");
  expect_error([&] { scale(f32({3}), 1.0 / 0.0, "s"); }, "[scale s] the factor must be finite");
  expect_error([&] { fill(graph, TensorSpec::dense(DType::i64, {}), 1, "f"); },
               "[fill f] the result must be f32");
  expect_error([&] { dropout(f32({3}), i32({}), 0.5, "d"); }, "step number must be a i64 scalar, got i32[]");
}

TEST_F(OpErrors, ImageToFloat) {
  const std::vector<double> three{0.1, 0.2, 0.3}, zero{0.1, 0, 0.3}, one{0.5};
  const Tensor x = input(DType::u8, {1, 3, 2, 2});
  const auto convert = [&](Tensor t, const std::vector<double>& mean, const std::vector<double>& deviation) {
    image_to_float(t, DType::f32, Layout::channels_last, mean, deviation, "i");
  };
  expect_error([&] { convert(f32({1, 3, 2, 2}), three, three); }, "x must be u8 [N, C, H, W]");
  expect_error([&] { convert(x, one, three); }, "x has 3 channels, but there are 1 means and 3 deviations");
  expect_error([&] { convert(x, three, zero); }, "channel 1 has mean 0.2 and deviation 0");
}

TEST_F(OpErrors, BatchNorm) {
  expect_error(
      [&] {
        batch_norm(f32({2, 3}), f32({4}), f32({3}), 1e-5, "bn");
      },
      "[batch_norm bn] gamma must be f32[3], got f32[4]");
  expect_error(
      [&] {
        batch_norm(f32({2, 3}), f32({3}), input(DType::f64, {3}), 1e-5, "bn");
      },
      "beta must be f32[3], got f64[3]");
  expect_error([&] { batch_norm(f32({3}), f32({3}), f32({3}), 1e-5, "bn"); },
               "x must be [N, C, …], got f32[3]");
  expect_error(
      [&] {
        batch_norm(f32({2, 3}), f32({3}), f32({3}), -1, "bn");
      },
      "epsilon must not be negative");
  expect_error(
      [&] {
        batch_norm_inference(f32({2, 3}), f32({3}), f32({3}), f32({3}), f32({1}), 1e-5, "bn");
      },
      "running variance must be f32[3]");
  const auto update = [&](DType counter, std::int64_t count) {
    bn_running_update(f32({3}), f32({3}), state(DType::f32, {3}), state(DType::f32, {3}), state(counter, {}),
                      i32({}), count, 0.1, 1e-5, "run");
  };
  expect_error([&] { update(DType::i32, 8); }, "number of batches must be a i64 scalar");
  expect_error([&] { update(DType::i64, 1); }, "at least 2 values per channel, got 1");
}

TEST_F(OpErrors, Losses) {
  expect_error(
      [&] {
        softmax_cross_entropy(f32({4, 3}), i32({5}), 0, "loss");
      },
      "[softmax_cross_entropy loss] labels must be i32[4], got i32[5]");
  expect_error([&] { softmax_cross_entropy(f32({4}), i32({4})); }, "logits must be [rows, classes]");
  expect_error(
      [&] {
        softmax_cross_entropy(f32({4, 3}), i32({4}), 1.5);
      },
      "label smoothing must be in [0, 1]");
  expect_error([&] { correct_count(f32({4, 3}), f32({4})); }, "labels must be i32[4], got f32[4]");
  expect_error([&] { label_count(f32({4})); }, "labels must be i32[4], got f32[4]");
  expect_error([&] { finite_check(f32({}), state(DType::i64, {})); }, "flag must be a i32 scalar");
}

TEST_F(OpErrors, Sgd) {
  const auto update = [&](Tensor parameter, Tensor gradient, Tensor momentum, const SgdOptions& options) {
    sgd_update(parameter, gradient, momentum, input(DType::f64, {}), i32({}), options, "sgd");
  };
  const Tensor p = state(DType::f32, {3});
  expect_error([&] { update(p, f32({4}), {}, {}); }, "[sgd sgd] parameter is f32[3] but gradient is f32[4]");
  expect_error([&] { update(p, f32({3}), {}, {.momentum = 0.9}); }, "there is no momentum buffer");
  expect_error([&] { update(p, f32({3}), p, {}); }, "there is a momentum buffer");
  expect_error([&] { update(p, f32({3}), {}, {.momentum = -1}); }, "is negative");
  expect_error([&] { update(p, f32({3}), p, {.momentum = 0.9, .dampening = 0.1, .nesterov = true}); },
               "Nesterov needs a momentum and no dampening");
}

TEST_F(OpErrors, Adam) {
  const Tensor p = state(DType::f32, {3}), m = state(DType::f32, {3}), v = state(DType::f32, {3});
  const auto rate = [&] { return input(DType::f64, {}); };
  const auto update = [&](Tensor gradient, Tensor second, const AdamOptions& options) {
    adam_update(p, gradient, {m, second, rate(), rate(), rate(), i32({})}, options, "adam");
  };
  expect_error([&] { update(f32({4}), v, {}); }, "[adam adam] parameter is f32[3] but gradient is f32[4]");
  expect_error([&] { update(f32({3}), state(DType::f32, {2}), {}); }, "parameter is f32[3] but second moment is f32[2]");
  expect_error([&] { update(f32({3}), v, {.beta1 = 1}); }, "the betas are 1 and 0.999, expected in [0, 1)");
  expect_error([&] { update(f32({3}), v, {.epsilon = -1}); }, "epsilon -1 is negative or not finite");
  expect_error([&] { update(f32({3}), v, {.weight_decay = 1.0 / 0.0}); }, "weight decay inf is negative or not finite");
  expect_error(
      [&] { adam_update(p, f32({3}), {m, v, rate(), f32({}), rate(), i32({})}, {}, "adam"); },
      "bias correction 1 must be a f64 scalar, got f32[]");
}

}  // namespace
}  // namespace swapadvisor
