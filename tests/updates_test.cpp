// LAMB, clipping by global norm and moving averages against numpy, PyTorch (scripts/golden_updates.py), and
// edges.
#include <gtest/gtest.h>
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/ema.h>
#include <swapadvisor/ops/gradient_clip.h>
#include <swapadvisor/ops/lamb.h>
#include <swapadvisor/ops/micro_batch.h>
#include <swapadvisor/train/training_graph.h>

#include <cmath>
#include <limits>

#include "expect_error.h"
#include "golden_file.h"
#include "interpret.h"
#include "project.h"

namespace swapadvisor {
namespace {

using Values = std::vector<double>;

/// Parameters p0, p1, … whose gradients are inputs: the loss is Σ ⟨p_i, g_i⟩.
class Updates {
 public:
  Updates(const OptimizerOptions& options, const std::vector<Values>& start)
      : options_(options), kernels_(cpu_kernels()) {
    add_project_kernels(kernels_);
    Tensor loss;
    for (std::size_t i = 0; i < start.size(); ++i) {
      const TensorSpec spec = TensorSpec::dense(DType::f64, {std::ssize(start[i])});
      const Tensor p = graph.parameter(fmt::format("p{}", i), spec, {});
      const Tensor term = project(p, graph.input(fmt::format("g{}", i), spec));
      loss = loss ? add(loss, term) : term;
    }
    minimize(loss, options);
    buffers = initial_buffers(graph, 1);
    for (std::size_t i = 0; i < start.size(); ++i) buffers[fmt::format("p{}", i)] = to_bytes(start[i]);
  }
  void step(const std::vector<Values>& gradients, double rate) {
    Inputs inputs;
    StepScalars(options_, number_++, rate).add_to(inputs, graph);
    for (const auto& [name, value] : inputs) buffers[name].assign(value.bytes().begin(), value.bytes().end());
    for (std::size_t i = 0; i < gradients.size(); ++i)
      buffers[fmt::format("g{}", i)] = to_bytes(gradients[i]);
    interpret(graph, kernels_, buffers, {.threads = 2});
  }
  Values read(const std::string& name) const { return from_bytes<double>(buffers.at(name)); }
  double norm() const { return read(names::gradient_norm).at(0); }

  Graph graph;
  HostBuffers buffers;

 private:
  OptimizerOptions options_;
  KernelSet kernels_;
  std::int64_t number_ = 0;
};

OptimizerOptions options_of(const nlohmann::json& c) {
  OptimizerOptions options{.name = c.at("optimizer")};
  options.momentum = c.value("momentum", options.momentum);
  options.nesterov = c.value("nesterov", false);
  options.beta1 = c.value("beta1", options.beta1);
  options.beta2 = c.value("beta2", options.beta2);
  if (c.contains("eps")) options.epsilon = c.at("eps").get<double>();
  if (c.contains("weight_decay")) options.weight_decay = c.at("weight_decay").get<double>();
  options.clip_norm = c.value("clip", 0.0);
  options.ema_decay = c.value("ema", 0.0);
  return options;
}

void expect_near(const Values& values, const Values& golden, const std::string& what) {
  ASSERT_EQ(values.size(), golden.size()) << what;
  for (std::size_t e = 0; e < golden.size(); ++e)
    EXPECT_NEAR(values[e], golden[e], 2e-12 * std::abs(golden[e]) + 1e-15) << what << "[" << e << "]";
}

TEST(Updates, AreThoseOfPyTorchAndOfThePaper) {
  const nlohmann::json file = golden_file("updates.json");
  ASSERT_GE(file.at("cases").size(), 9u);
  for (const nlohmann::json& c : file.at("cases")) {
    SCOPED_TRACE(c.at("case").dump());
    Updates updates(options_of(c.at("case")), c.at("start").get<std::vector<Values>>());
    const auto rates = c.at("rates").get<Values>(), norms = c.at("norms").get<Values>();
    for (std::size_t t = 0; t < rates.size(); ++t) {
      updates.step(c.at("gradients").at(t).get<std::vector<Values>>(), rates[t]);
      if (!norms.empty()) {
        EXPECT_NEAR(updates.norm(), norms[t], 1e-13 * norms[t]) << t;
      }
    }
    const auto expect = [&](const char* key, const std::string& prefix) {
      if (!c.contains(key)) return;
      const auto golden = c.at(key).get<std::vector<Values>>();
      for (std::size_t i = 0; i < golden.size(); ++i)
        expect_near(updates.read(fmt::format("{}p{}", prefix, i)), golden[i], fmt::format("{} {}", key, i));
    };
    expect("parameters", "");
    expect("averages", names::ema_prefix);
  }
}

TEST(Updates, LambWithoutAnUpdateOrAParameterHasRatioOne) {
  Updates updates({.name = "lamb", .weight_decay = 0}, {{0, 0}, {3, 4}});
  updates.step({{1, -1}, {0, 0}}, 0.5);
  // First step: m̂/√v̂ is the sign of the gradient.
  expect_near(updates.read("p0"), {-0.5 / (1 + 1e-6), 0.5 / (1 + 1e-6)}, "p0");
  EXPECT_EQ(updates.read("p1"), (Values{3, 4}));
}

TEST(Updates, ALossThatIsNotFiniteChangesNothing) {
  for (const char* name : {"lamb", "sgd", "adamw"}) {
    Updates updates({.name = name, .clip_norm = 1, .ema_decay = 0.5}, {{1, -2}, {5}});
    updates.step({{0.5, 0.25}, {1}}, 0.1);
    const HostBuffers before = updates.buffers;
    updates.step({{2, std::numeric_limits<double>::quiet_NaN()}, {1}}, 0.1);
    for (const Buffer& buffer : updates.graph.buffers())
      if (is_persistent(buffer.kind) && buffer.name != names::finite) {
        EXPECT_EQ(updates.buffers.at(buffer.name), before.at(buffer.name)) << name << " " << buffer.name;
      }
  }
}

TEST(Updates, TheFirstAverageIsTheParameterWhateverTheFirstValue) {
  Updates updates({.momentum = 0, .ema_decay = 0.75}, {{8}});
  updates.step({{4}}, 1);
  EXPECT_EQ(updates.read("optimizer/ema/p0"), (Values{4}));
  updates.step({{8}}, 1);
  EXPECT_EQ(updates.read("optimizer/ema/p0"), (Values{0.75 * 4 + 0.25 * -4}));
}

TEST(Updates, WithoutClippingAnUpdateFollowsItsGradientWithItAllWait) {
  const std::vector<Values> start{{1, 2}, {3}, {4, 5, 6}};
  const auto position = [](const Graph& graph, std::string_view type, bool last) {
    std::ptrdiff_t found = -1;
    for (std::size_t i = 0; i < graph.nodes().size(); ++i)
      if (graph.nodes()[i].op->type() == type && (last || found < 0)) found = static_cast<std::ptrdiff_t>(i);
    return found;
  };
  const Updates at_once({}, start), clipped({.clip_norm = 1}, start);
  EXPECT_LT(position(at_once.graph, "sgd", false), position(at_once.graph, "test_project_backward", true));
  EXPECT_GT(position(clipped.graph, "sgd", false), position(clipped.graph, "square_sum", true));
  EXPECT_EQ(position(at_once.graph, "gradient_clip", true), -1);
}

TEST(Updates, OptionsOutOfRange) {
  const auto refuse = [](const OptimizerOptions& options, const std::string& part) {
    expect_error([&] { check(options); }, part);
  };
  refuse({.clip_norm = -1}, "the largest gradient norm -1 is negative or not finite");
  refuse({.clip_norm = std::numeric_limits<double>::infinity()}, "the largest gradient norm inf");
  refuse({.ema_decay = 1}, "the decay 1 of the average of the parameters is not in [0, 1)");
  refuse({.name = "lamb", .beta1 = 1}, "beta 1 is not in [0, 1)");
  EXPECT_EQ(OptimizerOptions{.name = "lamb"}.divisor_epsilon(), 1e-6);
  EXPECT_EQ(OptimizerOptions{.name = "lamb"}.decay(), 0.01);
}

TEST(Updates, OperandsOutOfRange) {
  Graph graph;
  int inputs = 0;
  const auto input = [&](DType dtype, const Shape& shape) {
    return graph.input(fmt::format("in{}", inputs++), TensorSpec::dense(dtype, shape));
  };
  const auto state = [&](const Shape& shape) {
    return graph.state(fmt::format("in{}", inputs++), TensorSpec::dense(DType::f32, shape), {});
  };
  const auto f64 = [&] { return input(DType::f64, {}); };
  const auto lamb = [&](const Shape& gradient, Tensor scale, const LambOptions& options) {
    lamb_update(state({3}), input(DType::f32, gradient),
                {state({3}), state({3}), f64(), f64(), f64(), input(DType::i32, {}), scale}, options, "l");
  };
  expect_error([&] { lamb({4}, {}, {}); }, "[lamb l] parameter is f32[3] but gradient is f32[4]");
  expect_error([&] { lamb({3}, {}, {.beta2 = 1}); }, "the betas are 0.9 and 1, expected in [0, 1)");
  expect_error([&] { lamb({3}, {}, {.epsilon = -1}); }, "epsilon -1 is negative");
  expect_error([&] { lamb({3}, input(DType::f32, {}), {}); },
               "gradient scale must be a f64 scalar, got f32[]");
  expect_error([&] { square_sum(input(DType::i32, {3}), "s"); }, "[square_sum s] x must be f32 or f64");
  const Tensor sums[]{f64(), input(DType::f32, {})};
  expect_error([&] { gradient_clip(sums, 1, "c"); }, "[gradient_clip c] square sum must be a f64 scalar");
  expect_error([&] { gradient_clip(std::span(sums, 1), 0, "c"); },
               "the largest norm must be a finite number above 0");
  expect_error([&] { ema_update(state({3}), input(DType::f32, {2}), f64(), input(DType::i32, {}), "e"); },
               "[ema_update e] average is f32[3] but x is f32[2]");
  expect_error([&] { scale_by(input(DType::f32, {2}), input(DType::f32, {}), "b"); },
               "[scale_by b] factor must be a f64 scalar");
  const Tensor counts[]{input(DType::i64, {}), f64()};
  expect_error([&] { count_share(counts, 0, "n"); }, "[count_share n] count must be a i64 scalar");
  expect_error([&] { count_share(std::span(counts, 1), 1, "n"); }, "there are 1 counts, not number 1");
}

}  // namespace
}  // namespace swapadvisor
