#include <gtest/gtest.h>
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/correct_count.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <cmath>
#include <limits>

#include "interpret.h"

namespace swapadvisor {
namespace {

template <class T>
struct Loss {
  Loss(const std::vector<T>& logits, const std::vector<std::int32_t>& labels, double smoothing = 0) {
    const auto rows = static_cast<std::int64_t>(labels.size());
    const auto classes = static_cast<std::int64_t>(logits.size()) / rows;
    const Tensor x = graph.input("x", TensorSpec::dense(dtype_of<T>, {rows, classes}));
    const Tensor y = graph.input("y", TensorSpec::dense(DType::i32, {rows}));
    const Tensor loss = softmax_cross_entropy(x, y, smoothing, "loss");
    const Tensor dx = gradients(loss, std::vector{x})[0];
    HostBuffers buffers{{"x", to_bytes(logits)}, {"y", to_bytes(labels)}};
    interpret(graph, cpu_kernels(), buffers);
    value = from_bytes<T>(buffers.at("loss"))[0];
    gradient = from_bytes<T>(buffers.at(dx.name()));
  }
  Graph graph;
  T value = 0;
  std::vector<T> gradient;
};

TEST(SoftmaxCrossEntropy, MatchesItsDefinition) {
  const std::vector<double> logits{1, 2, 3, -1, 0, 0.5};
  const std::vector<std::int32_t> labels{2, 0};
  for (const double smoothing : {0.0, 0.3}) {
    double expected = 0;
    std::vector<double> gradient;
    for (std::size_t n = 0; n < 2; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) sum += std::exp(logits[3 * n + k]);
      for (std::size_t k = 0; k < 3; ++k) {
        const double p = std::exp(logits[3 * n + k]) / sum;
        const double q = (static_cast<std::int32_t>(k) == labels[n] ? 1 - smoothing : 0) + smoothing / 3;
        expected -= q * std::log(p) / 2;
        gradient.push_back((p - q) / 2);
      }
    }
    const Loss<double> loss(logits, labels, smoothing);
    EXPECT_NEAR(loss.value, expected, 1e-14);
    for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(loss.gradient[i], gradient[i], 1e-15);
  }
}

TEST(SoftmaxCrossEntropy, DoesNotOverflow) {
  const Loss<float> loss({3e4F, -3e4F, 3e4F, -3e38F}, {0, 1});
  EXPECT_NEAR(loss.value, 1.5e38F, 1e32F);
  EXPECT_EQ(loss.gradient, (std::vector<float>{0, 0, 0.5F, -0.5F}));
}

TEST(SoftmaxCrossEntropy, IgnoredRowsDoNotCount) {
  const Loss<double> all({1, 2, 5, 9, 4, 4}, {0, ignored_label, 1}), some({1, 2, 4, 4}, {0, 1});
  EXPECT_DOUBLE_EQ(all.value, some.value);
  EXPECT_EQ(all.gradient[2], 0);
  EXPECT_EQ(all.gradient[3], 0);
  EXPECT_DOUBLE_EQ(all.gradient[4], some.gradient[2]);
  const Loss<double> none({1, 2}, {ignored_label});
  EXPECT_EQ(none.value, 0);
  EXPECT_EQ(none.gradient, (std::vector<double>{0, 0}));
}

TEST(SoftmaxCrossEntropy, OtherLabelsGiveNaN) {
  for (const std::int32_t label : {-1, 2, std::numeric_limits<std::int32_t>::max(), -101}) {
    const Loss<float> loss({1, 2}, {label});
    EXPECT_TRUE(std::isnan(loss.value)) << label;
    EXPECT_TRUE(std::isnan(loss.gradient[0])) << label;
  }
}

TEST(SoftmaxCrossEntropy, NaNLogitsGiveANaNLoss) {
  for (std::size_t at : {0U, 5U, 16U, 18U}) {
    std::vector<float> logits(19, 0.5F);
    logits[at] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(Loss<float>(logits, {3}).value)) << at;
  }
}

// The kernel's own f32 exponential, through p = e^x/(1 + e^x) of two classes, over the whole range.
TEST(SoftmaxCrossEntropy, F32ProbabilitiesAreAccurate) {
  for (double x = -86; x <= 0; x += 0.37) {
    const auto logit = static_cast<float>(x);
    const Loss<float> loss({logit, 0}, {1});
    const double e = std::exp(static_cast<double>(logit));
    EXPECT_NEAR(loss.gradient[0] / (e / (1 + e)), 1, 4e-7) << x;
  }
}

TEST(CorrectCount, CountsRowsWhoseFirstMaximumIsTheLabel) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {6, 3}));
  const Tensor y = graph.input("y", TensorSpec::dense(DType::i32, {6}));
  const Tensor count = correct_count(x, y);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  HostBuffers buffers{
      {"x", to_bytes<float>({1, 2, 3, /**/ 5, 5, 1, /**/ 5, 5, 1, /**/ -1, -2, -3, /**/ 9, 0, 0, /**/
                             1, nan, 2})},
      {"y", to_bytes<std::int32_t>({2, 0, 1, 0, ignored_label, 1})}};
  interpret(graph, cpu_kernels(), buffers);
  EXPECT_EQ(from_bytes<std::int64_t>(buffers.at(count.name())), std::vector<std::int64_t>{4});
}

}  // namespace
}  // namespace swapadvisor
