#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/dropout.h>

#include <algorithm>
#include <cmath>

#include "expect_error.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

std::vector<float> drop_ones(std::int64_t n, double p, const std::string& name, std::int64_t step,
                             std::uint64_t seed, int threads = 1) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {n}));
  const Tensor y = dropout(x, graph.input("step", TensorSpec::dense(DType::i64, {})), p, name);
  HostBuffers buffers{{"x", to_bytes(std::vector<float>(static_cast<std::size_t>(n), 1.0F))},
                      {"step", to_bytes<std::int64_t>({step})}};
  interpret(graph, cpu_kernels(), buffers, {.threads = threads, .seed = seed});
  return from_bytes<float>(buffers.at(y.name()));
}

TEST(Dropout, DrawsTheBitsOfRandomStream) {
  Graph graph;
  const Tensor step = graph.input("step", TensorSpec::dense(DType::i64, {}));
  dropout(graph.input("x", TensorSpec::dense(DType::f32, {1})), step, 0.5, "drop");
  const auto id = dynamic_cast<const DropoutOp&>(*graph.nodes()[0].op).draw_id();
  const RandomStream random{123456789012345, id, 42};
  for (const double p : {0.1, 0.5, 0.9}) {
    const auto found = drop_ones(10'007, p, "drop", 42, random.seed, 2);
    const auto kept = static_cast<float>(1 / (1 - p));
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], random.uniform(i) < p ? 0 : kept) << i;
  }
}

TEST(Dropout, DrawsDependOnSeedStepAndName) {
  const auto base = drop_ones(64, 0.5, "drop", 1, 1);
  EXPECT_EQ(base, drop_ones(64, 0.5, "drop", 1, 1));
  EXPECT_NE(base, drop_ones(64, 0.5, "drop", 2, 1));
  EXPECT_NE(base, drop_ones(64, 0.5, "drop", 1, 2));
  EXPECT_NE(base, drop_ones(64, 0.5, "other", 1, 1));
}

TEST(Dropout, DropsTheRightShare) {
  constexpr std::int64_t n = 100'000;
  const auto found = drop_ones(n, 0.3, "drop", 1, 1);
  const auto dropped = static_cast<double>(std::count(found.begin(), found.end(), 0.0F));
  EXPECT_NEAR(dropped / n, 0.3, 5 * std::sqrt(0.3 * 0.7 / n));
}

TEST(Dropout, OfProbabilityZeroIsTheTensorItself) {
  Graph graph;
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {3}));
  const Tensor step = graph.input("step", TensorSpec::dense(DType::i64, {}));
  EXPECT_EQ(dropout(x, step, 0).id(), x.id());
  for (const double p : {-0.1, 1.0, 1.5, std::nan("")})
    expect_error([&] { dropout(x, step, p, "d"); }, "[dropout d] the drop probability must be in [0, 1)");
}

}  // namespace
}  // namespace swapadvisor
