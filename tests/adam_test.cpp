// Adam and AdamW against sums over all gradients in long double, and against PyTorch's
// (scripts/golden_adam.py).
#include <swapadvisor/ops/adam.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/train/optimizer.h>
#include <swapadvisor/train/training_graph.h>

#include <cmath>
#include <limits>

#include "expect_error.h"
#include "golden_file.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

using Values = std::vector<double>;

/// One parameter "p" with gradient "g" under the optimizer of the command line.
template <class T>
class Training {
 public:
  Training(const OptimizerOptions& options, const Values& start) : options_(options) {
    const TensorSpec spec = TensorSpec::dense(DTypeOf(), {static_cast<std::int64_t>(start.size())});
    const Tensor p = graph.parameter("p", spec, {}), g = graph.input("g", spec);
    const Tensor finite = graph.input("finite", TensorSpec::dense(DType::i32, {}));
    Optimizer(graph, options).update(p, g, finite);
    const Values zeros(start.size());
    buffers = {
        {"p", bytes(start)}, {"optimizer/exp_avg/p", bytes(zeros)}, {"optimizer/exp_avg_sq/p", bytes(zeros)}};
  }
  void step(const Values& gradient, double rate, std::int32_t finite = 1) {
    const StepScalars scalars(options_, number_++, rate);
    Inputs inputs;
    scalars.add_to(inputs, graph);
    for (const auto& [name, value] : inputs) buffers[name].assign(value.bytes().begin(), value.bytes().end());
    buffers["g"] = bytes(gradient);
    buffers["finite"] = to_bytes<std::int32_t>({finite});
    interpret(graph, cpu_kernels(), buffers, {.threads = 2});
  }
  Values read(const std::string& name) const {
    const auto values = from_bytes<T>(buffers.at(name));
    return {values.begin(), values.end()};
  }
  Values parameter() const { return read("p"); }
  Values exp_avg() const { return read("optimizer/exp_avg/p"); }
  Values exp_avg_sq() const { return read("optimizer/exp_avg_sq/p"); }

  Graph graph;
  HostBuffers buffers;

 private:
  static DType DTypeOf() { return sizeof(T) == 8 ? DType::f64 : DType::f32; }
  static auto bytes(const Values& values) {
    return to_bytes<T>(std::vector<T>(values.begin(), values.end()));
  }

  OptimizerOptions options_;
  std::int64_t number_ = 0;
};

/// The moments are weighted sums over the whole past: m_t = (1 − β1) Σ β1^(t−i) g_i, likewise v_t.
double reference(const OptimizerOptions& o, double start, const Values& gradients, const Values& rates) {
  using Real = long double;
  std::vector<Real> seen;
  Real p = start;
  for (std::size_t t = 1; t <= gradients.size(); ++t) {
    const Real rate = rates[t - 1], decay = o.decay();
    seen.push_back(gradients[t - 1] + (o.name == "adam" ? decay * p : 0));
    Real m = 0, v = 0;
    for (std::size_t i = 1; i <= t; ++i) {
      const Real g = seen[i - 1];
      m += (1 - Real{o.beta1}) * std::pow(Real{o.beta1}, static_cast<Real>(t - i)) * g;
      v += (1 - Real{o.beta2}) * std::pow(Real{o.beta2}, static_cast<Real>(t - i)) * g * g;
    }
    const Real n = static_cast<Real>(t);
    const Real mean = m / (1 - std::pow(Real{o.beta1}, n)), square = v / (1 - std::pow(Real{o.beta2}, n));
    if (o.name == "adamw") p *= 1 - rate * decay;
    p -= rate * mean / (std::sqrt(square) + o.divisor_epsilon());
  }
  return static_cast<double>(p);
}

std::vector<OptimizerOptions> variants() {
  std::vector<OptimizerOptions> all;
  for (const char* name : {"adam", "adamw"}) {
    all.push_back({.name = name});
    all.push_back({.name = name, .beta1 = 0.7, .beta2 = 0.9, .epsilon = 1e-2, .weight_decay = 0.2});
  }
  return all;
}

template <class T>
void expect_reference(double tolerance) {
  constexpr std::size_t n = 37;  // whole vectors and a rest
  const Values rates{0.1, 0.05, 0.2, 0.01, 0.1};
  for (const OptimizerOptions& options : variants()) {
    SCOPED_TRACE(options.name);
    Values start(n);
    std::vector<Values> gradients(n);
    for (std::size_t e = 0; e < n; ++e) start[e] = static_cast<double>(e % 11) / 4 - 1;
    Training<T> training(options, start);
    for (std::size_t t = 0; t < rates.size(); ++t) {
      Values g(n);
      for (std::size_t e = 0; e < n; ++e) {
        g[e] = static_cast<double>((e * 7 + t * 5) % 13) / 8 - 0.75;
        gradients[e].push_back(g[e]);
      }
      training.step(g, rates[t]);
    }
    const Values result = training.parameter();
    for (std::size_t e = 0; e < n; ++e)
      EXPECT_NEAR(result[e], reference(options, start[e], gradients[e], rates), tolerance) << e;
  }
}

TEST(Adam, FollowsTheSumsOverAllGradients) {
  expect_reference<double>(1e-14);
  expect_reference<float>(3e-6);
}

TEST(Adam, IsPyTorchs) {
  const nlohmann::json file = golden_file("adam.json");
  ASSERT_GE(file.at("cases").size(), 6u);
  for (const nlohmann::json& c : file.at("cases")) {
    SCOPED_TRACE(c.at("optimizer").get<std::string>() + " with " + c.at("given").dump());
    const auto given = c.at("given").get<std::vector<std::string>>();
    OptimizerOptions options{.name = c.at("optimizer")};
    // What was not given to PyTorch keeps our default: the defaults are compared, too.
    for (const std::string& option : given) {
      if (option == "betas") options.beta1 = c.at("beta1"), options.beta2 = c.at("beta2");
      if (option == "eps") options.epsilon = c.at("epsilon").get<double>();
      if (option == "weight_decay") options.weight_decay = c.at("weight_decay").get<double>();
    }
    EXPECT_EQ(options.beta1, c.at("beta1"));
    EXPECT_EQ(options.beta2, c.at("beta2"));
    EXPECT_EQ(options.divisor_epsilon(), c.at("epsilon"));
    EXPECT_EQ(options.decay(), c.at("weight_decay"));
    Training<double> training(options, c.at("start").get<Values>());
    const auto rates = c.at("rates").get<Values>();
    for (std::size_t t = 0; t < rates.size(); ++t)
      training.step(c.at("gradients").at(t).get<Values>(), rates[t]);
    const auto expect = [&](const char* name, const Values& values) {
      const auto golden = c.at(name).get<Values>();
      ASSERT_EQ(values.size(), golden.size());
      for (std::size_t e = 0; e < golden.size(); ++e)
        EXPECT_NEAR(values[e], golden[e], 1e-12 * std::abs(golden[e])) << name << "[" << e << "]";
    };
    expect("parameter", training.parameter());
    expect("exp_avg", training.exp_avg());
    expect("exp_avg_sq", training.exp_avg_sq());
  }
}

TEST(Adam, DoesNothingWhenNotFinite) {
  Training<double> training({.name = "adamw", .weight_decay = 0.5}, {1, -2});
  training.step({0.5, 0.25}, 0.1);
  const HostBuffers before = training.buffers;
  training.step({2, std::numeric_limits<double>::quiet_NaN()}, 0.1, 0);
  for (const char* name : {"p", "optimizer/exp_avg/p", "optimizer/exp_avg_sq/p"})
    EXPECT_EQ(training.buffers.at(name), before.at(name)) << name;
}

TEST(Adam, UpdatesParameterAndMomentsInPlace) {
  const Training<float> training({.name = "adam"}, {1, 2, 3});
  const PlanGraph plan = lower(training.graph, {});
  EXPECT_NO_THROW(check(plan));
  EXPECT_EQ(plan.buffers.size(), 8u);  // p, g, two moments, finite, three scalars
  ASSERT_EQ(plan.ops.size(), 1u);
  EXPECT_FALSE(plan.ops[0].recomputable);
  EXPECT_EQ(plan.ops[0].outputs.size(), 3u);
}

TEST(Adam, OptimizerOptionsOutOfRange) {
  const auto refuse = [](const OptimizerOptions& options, const std::string& part) {
    expect_error([&] { check(options); }, part);
  };
  refuse({.name = "lamp"}, "unknown optimizer 'lamp': expected sgd, adam, adamw or lamb");
  refuse({.name = "adam", .beta1 = 1}, "beta 1 is not in [0, 1)");
  refuse({.name = "adam", .beta2 = -0.5}, "beta -0.5 is not in [0, 1)");
  refuse({.name = "adamw", .epsilon = NAN}, "epsilon nan is negative or not finite");
  refuse({.name = "adamw", .weight_decay = -1}, "weight decay -1 is negative");
  EXPECT_NO_THROW(check(OptimizerOptions{.name = "adamw", .momentum = 2}));  // sgd's alone
}

}  // namespace
}  // namespace swapadvisor
