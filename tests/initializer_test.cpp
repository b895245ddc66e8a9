#include <gtest/gtest.h>
#include <swapadvisor/core/initializer.h>

#include <algorithm>
#include <cmath>

#include "interpret.h"

namespace swapadvisor {
namespace {

template <class T>
std::vector<T> draw(const Shape& shape, const Initializer& how, const std::string& name,
                    std::uint64_t seed = 1) {
  const TensorSpec spec = TensorSpec::dense(dtype_of<T>, shape);
  std::vector<std::byte> bytes(static_cast<std::size_t>(spec.bytes()));
  initialize(bytes, spec, how, name, seed);
  return from_bytes<T>(bytes);
}

struct Moments {
  double mean = 0, deviation = 0;
};

Moments moments(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (float v : values) sum += v, squares += static_cast<double>(v) * v;
  const auto n = static_cast<double>(values.size());
  return {sum / n, std::sqrt(squares / n - sum * sum / n / n)};
}

TEST(Initializer, Constants) {
  EXPECT_EQ(draw<float>({3}, Initializer::zeros(), "w"), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(draw<double>({2}, Initializer::constant(1.5), "w"), (std::vector<double>{1.5, 1.5}));
  EXPECT_EQ(draw<std::int32_t>({}, Initializer::constant(1), "flag"), std::vector<std::int32_t>{1});
  EXPECT_EQ(draw<std::int64_t>({}, Initializer::zeros(), "count"), std::vector<std::int64_t>{0});
}

TEST(Initializer, LeadingZeros) {
  const Initializer how = Initializer::normal(3, 0.1);
  const auto plain = draw<float>({2, 3}, how, "w"), zeros = draw<float>({2, 3}, how.with_leading_zeros(3), "w");
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(zeros[i], i < 3 ? 0 : plain[i]) << i;
}

TEST(Initializer, UniformStaysInItsInterval) {
  const auto values = draw<float>({200, 100}, Initializer::uniform(-0.25, 0.75), "w");
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -0.25F);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 0.75F);
  EXPECT_NEAR(moments(values).mean, 0.25, 0.01);
  EXPECT_NEAR(moments(values).deviation, std::sqrt(1.0 / 12), 0.01);
}

// Fan-out of [64, 32, 3, 3] is 64·9, so the deviation is √(2/576).
TEST(Initializer, KaimingNormalFanOut) {
  const Shape shape{64, 32, 3, 3};
  const Moments found = moments(draw<float>(shape, Initializer::kaiming_normal_fan_out(shape), "w"));
  const double expected = std::sqrt(2.0 / 576);
  EXPECT_NEAR(found.deviation, expected, 0.02 * expected);
  EXPECT_NEAR(found.mean, 0, 5 * expected / std::sqrt(64.0 * 32 * 9));
}

// Fan-in of [10, 400] is 400, so the bound is 1/20.
TEST(Initializer, UniformFanIn) {
  const Shape shape{10, 400};
  const Initializer how = Initializer::uniform_fan_in(shape);
  EXPECT_DOUBLE_EQ(how.a, -0.05);
  EXPECT_DOUBLE_EQ(how.b, 0.05);
  EXPECT_DOUBLE_EQ(Initializer::uniform_fan_in({8, 4, 5, 5}).b, 0.1);
}

TEST(Initializer, ValuesDependOnNameAndSeedOnly) {
  const Initializer how = Initializer::normal(0, 1);
  const auto values = draw<float>({50}, how, "layer.weight");
  EXPECT_EQ(values, draw<float>({50}, how, "layer.weight"));
  EXPECT_NE(values, draw<float>({50}, how, "layer.bias"));
  EXPECT_NE(values, draw<float>({50}, how, "layer.weight", 2));
  const auto wide = draw<double>({50}, how, "layer.weight");
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<float>(wide[i]));
}

}  // namespace
}  // namespace swapadvisor
