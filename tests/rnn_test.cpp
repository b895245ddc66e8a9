// Recurrent networks: against PyTorch's (scripts/golden_recurrent.py), their parameters and graphs, and under a limit.
#include <gtest/gtest.h>
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/models/registry.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/train/session.h>
#include <swapadvisor/train/training_graph.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "expect_error.h"
#include "golden_file.h"
#include "interpret.h"
#include "random_plan_graph.h"

namespace swapadvisor {
namespace {

using nlohmann::json;
using Values = std::vector<double>;

std::int64_t count_type(const Graph& graph, std::string_view type) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [&](const Node& node) { return node.op->type() == type; });
}

/// One model of the golden file, with its start values.
class GoldenStep {
 public:
  GoldenStep(const json& file, const json& step) : step_(step), seed_(file.at("seed")), batch_(file.at("batch")) {
    const json& options = step.at("options");
    ModelOptions model_options;
    model_options.hidden = options.at("hidden").get<std::int64_t>();
    model_options.layers = options.at("layers").get<std::int64_t>();
    model_options.vocab = options.at("vocab").get<std::int64_t>();
    model_options.seq_len = options.at("seq_len").get<std::int64_t>();
    model_options.cell = options.at("cell").get<std::string>();
    model_ = find_model(step.at("model").get<std::string>(), model_options);
  }

  std::string name() const {
    return fmt::format("{} {}", model_.info.name, step_.at("options").at("cell").get<std::string>());
  }

  /// Every result in `dtype` is within `limit(golden result)` of PyTorch's.
  template <class Limit>
  void check(DType dtype, const KernelSet& kernels, Limit limit) const {
    Graph graph("golden");
    const Tensor input = graph.input("input", model_.inputs[0].spec(batch_, dtype));
    const Tensor target = graph.input("target", model_.targets[0].spec(batch_, dtype));
    const Tensor logits = model_.logits(Scope(graph, {Mode::train, dtype}), input);
    const Tensor loss = softmax_cross_entropy(logits, reshape(target, {-1}));
    const std::vector<Tensor> parameters = graph.parameters();
    const std::vector<Tensor> slopes = gradients(loss, parameters);
    std::map<std::string, Tensor> results{{"logits", logits}, {"loss", loss}};
    for (std::size_t i = 0; i < parameters.size(); ++i) results["grad." + parameters[i].name()] = slopes[i];

    HostBuffers buffers = start_buffers(graph);
    interpret(graph, kernels, buffers);
    ASSERT_EQ(results.size(), step_.at("expected").size());
    for (const json& expected : step_.at("expected")) {
      const auto result = expected.at("name").get<std::string>();
      ASSERT_TRUE(results.contains(result)) << result;
      const Tensor& tensor = results.at(result);
      const Values found = to_logical(tensor.spec(), buffers.at(tensor.name()));
      EXPECT_LE(error_of(found, expected), limit(expected)) << result;
    }
  }

 private:
  HostBuffers start_buffers(const Graph& graph) const {
    HostBuffers buffers;
    const auto spec_of = [&](const std::string& name) {
      return graph.buffers()[static_cast<std::size_t>(graph.find_buffer(name))].spec;
    };
    for (const json& entry : step_.at("start")) {
      const auto name = entry.at("name").get<std::string>();
      const TensorSpec spec = spec_of(name);
      EXPECT_EQ(spec.shape, Shape(entry.at("shape").get<std::vector<std::int64_t>>())) << name;
      std::vector<float> drawn(static_cast<std::size_t>(spec.numel()));
      initialize(std::as_writable_bytes(std::span(drawn)), TensorSpec::dense(DType::f32, spec.shape),
                 Initializer::uniform(entry.at("low"), entry.at("high")), name, seed_);
      buffers[name] = from_logical(spec, Values(drawn.begin(), drawn.end()));
    }
    for (const char* name : {"input", "target"}) {
      const RandomStream ids{hash_name(name, seed_ ^ hash_name(""))};
      Values values;
      for (std::int64_t i = 0; i < spec_of(name).numel(); ++i)
        values.push_back(ids.below(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(model_.info.vocab)));
      buffers[name] = from_logical(spec_of(name), values);
    }
    return buffers;
  }

  static double error_of(const Values& found, const json& expected) {
    const auto exact = expected.at("values").get<Values>();
    if (found.size() != exact.size()) return INFINITY;
    double squares = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) squares += (found[i] - exact[i]) * (found[i] - exact[i]);
    return std::sqrt(squares) / expected.at("scale").get<double>();
  }

  const json& step_;
  std::uint64_t seed_;
  std::int64_t batch_;
  Model model_;
};

TEST(RnnGolden, StepsAreThoseOfPyTorch) {
  const json file = golden_file("recurrent_step.json");
  ASSERT_EQ(file.at("steps").size(), 4u);
  const auto exact = [](const json&) { return 1e-8; };
  // Three times the error of PyTorch's own float32 step.
  const auto single = [](const json& expected) {
    return 3 * std::max(expected.at("float32_error").get<double>(), 0x1p-23);
  };
  for (const json& entry : file.at("steps")) {
    const GoldenStep step(file, entry);
    SCOPED_TRACE(step.name());
    step.check(DType::f64, portable_kernels(), exact);
    step.check(DType::f32, portable_kernels(), single);
    step.check(DType::f32, cpu_kernels(), single);
  }
}

/// A forward pass.
struct Built {
  Built(std::string_view name, const ModelOptions& options, Mode mode = Mode::train, std::int64_t batch = 2) {
    const Model model = find_model(name, options);
    logits = model.logits(Scope(graph, {mode}), graph.input("input", model.input_spec(batch, DType::f32)));
  }
  Shape shape(const std::string& name) { return graph.find(name).shape(); }

  Graph graph;
  Tensor logits;
};

TEST(Rnn, HasTheParametersOfPyTorchsLstmAndGru) {
  ModelOptions options{.hidden = 6, .layers = 2};
  options.vocab = 11;
  options.seq_len = 3;
  Built lstm("rnn", options);
  EXPECT_EQ(lstm.logits.shape(), (Shape{6, 11}));
  EXPECT_EQ(lstm.shape("embedding.weight"), (Shape{11, 6}));
  EXPECT_EQ(lstm.shape("rnn.weight_ih_l1"), (Shape{24, 6}));
  EXPECT_EQ(lstm.shape("rnn.bias_hh_l1"), (Shape{24}));
  EXPECT_EQ(lstm.shape("linear.weight"), (Shape{11, 6}));
  EXPECT_EQ(parameter_count(lstm.graph), 11 * 6 + 2 * (2 * 24 * 6 + 2 * 24) + 11 * 6 + 11);

  options.cell = "gru";
  Built both("brnn", options);
  EXPECT_EQ(both.logits.shape(), (Shape{6, 11}));
  EXPECT_EQ(both.shape("rnn.weight_ih_l0_reverse"), (Shape{18, 6}));
  EXPECT_EQ(both.shape("rnn.weight_ih_l1"), (Shape{18, 12}));
  EXPECT_EQ(both.shape("rnn.weight_hh_l1_reverse"), (Shape{18, 6}));
  EXPECT_EQ(both.shape("linear.weight"), (Shape{11, 12}));
  const double bound = 1 / std::sqrt(6.0);
  const Buffer& bias = both.graph.buffers()[static_cast<std::size_t>(both.graph.find_buffer("rnn.bias_ih_l1"))];
  EXPECT_EQ(bias.init.kind, Initializer::Kind::uniform);
  EXPECT_DOUBLE_EQ(bias.init.b, bound);
}

// Eight layers of 8192, 20 steps, a batch of 256: the largest network of the paper's measurements.
TEST(Rnn, BuildsThePapersNetwork) {
  ModelOptions options{.hidden = 8192, .layers = 8};
  options.seq_len = 20;
  const Built paper("rnn", options, Mode::train, 256);
  EXPECT_EQ(parameter_count(paper.graph), 4'299'686'144);
  EXPECT_EQ(count_type(paper.graph, "lstm_cell"), 8 * 20);
  // Every step reads the layer's own weights, two matrices of 4 · 8192 rows; the first step has no state to multiply.
  EXPECT_EQ(count_type(paper.graph, "matmul"), 8 * (20 + 19) + 1);
}

TEST(Rnn, AllTimeStepsAddToOneGradient) {
  ModelOptions options{.hidden = 3, .layers = 1};
  options.seq_len = 5;
  Graph graph("rnn");
  StepOptions step;
  step.optimizer.momentum = 0;
  build_training_graph(graph, find_model("rnn", options), step);
  int products = 0, sums = 0, updates = 0;
  for (const Node& node : graph.nodes()) {
    products += node.name.starts_with("grad/rnn.l0.") && node.name.ends_with("hidden/b");
    sums += node.name.starts_with("grad/sum/rnn.weight_hh_l0/");
    updates += node.op->type() == "sgd" && node.inputs[0] >= 0 &&
               Tensor(graph, node.inputs[0]).name() == "rnn.weight_hh_l0";
  }
  EXPECT_EQ(products, 4);
  EXPECT_EQ(sums, 3);
  EXPECT_EQ(updates, 1);
}

TEST(Rnn, DropsBetweenLayersInTrainingOnly) {
  ModelOptions options{.hidden = 4, .layers = 3, .dropout = 0.25};
  options.seq_len = 5;
  EXPECT_EQ(count_type(Built("rnn", options, Mode::train).graph, "dropout"), 2 * 5);
  EXPECT_EQ(count_type(Built("rnn", options, Mode::eval).graph, "dropout"), 0);
  options.layers = 1;
  EXPECT_EQ(count_type(Built("brnn", options, Mode::train).graph, "dropout"), 0);
}

// The weights of the state take no part in the only step, so their gradient is 0, but it is there.
TEST(Rnn, OneTimeStepHasAllGradients) {
  for (const char* cell : {"lstm", "gru"}) {
    ModelOptions options{.hidden = 3, .layers = 2};
    options.seq_len = 1;
    options.cell = cell;
    Graph graph("rnn");
    StepOptions step;
    step.output_gradients = true;
    build_training_graph(graph, find_model("brnn", options), step);
    for (const Tensor& parameter : graph.parameters())
      EXPECT_GE(graph.find_buffer("grad." + parameter.name()), 0) << parameter.name();
  }
}

TEST(Rnn, RefusesWhatItCannotBuild) {
  ModelOptions options;
  options.cell = "elman";
  expect_error([&] { find_model("rnn", options); }, "there is no recurrent cell 'elman': expected lstm or gru");
  expect_error([] { find_model("brnn", {.layers = 0}); }, "brnn needs at least 1 layer, got 0");
  Graph graph;
  const Model model = find_model("rnn", {});
  const Tensor ids = graph.input("input", TensorSpec::dense(DType::i32, {2, 63}));
  expect_error([&] { model.logits(Scope(graph, {}), ids); }, "rnn expects ids [N, 64], got [2, 63]");
}

// ---- training under a limit

struct TrainedNetwork {
  Graph graph{"rnn"};
  Model model;

  TrainedNetwork(const char* name, const char* cell) {
    ModelOptions options{.hidden = 12, .layers = 3, .dropout = 0.2};
    options.vocab = 17;
    options.seq_len = 6;
    options.cell = cell;
    model = find_model(name, options);
    StepOptions step;
    step.batch_size = 5;
    build_training_graph(graph, model, step);
  }

  static SessionOptions options(std::optional<SizeLimit> limit, std::string planner = {}) {
    SessionOptions session;
    session.planner = std::move(planner);
    session.memory_limit = limit;
    session.device_spec = find_device("v100-16g");
    session.profile_repeats = 1;
    session.search_evaluations = 20;
    return session;
  }

  /// Losses of some steps and the parameters after them.
  Values train(Session& session) {
    Values values;
    for (std::int64_t s = 0; s < 4; ++s) {
      const std::vector<std::int32_t> input = ids("input", s), target = ids("target", s);
      session.step({{"input", input}, {"target", target}, {"step.learning_rate", 0.5}});
      values.push_back(session.read<float>("loss")[0]);
    }
    for (const Tensor& parameter : graph.parameters())
      for (const float value : session.read<float>(parameter.name())) values.push_back(value);
    return values;
  }

 private:
  std::vector<std::int32_t> ids(const char* name, std::int64_t step) const {
    const RandomStream random{hash_name(name), 0, static_cast<std::uint32_t>(step)};
    std::vector<std::int32_t> drawn;
    for (std::uint64_t i = 0; i < 5 * 6; ++i)
      drawn.push_back(static_cast<std::int32_t>(random.below(i, static_cast<std::uint32_t>(model.info.vocab))));
    return drawn;
  }
};

/// Dropout, one weight in many ops, and chains of gradient sums, with room for the largest op alone.
TEST(Rnn, TheTightestLimitChangesNoBit) {
  for (const auto& [name, cell] : {std::pair{"rnn", "lstm"}, {"rnn", "gru"}, {"brnn", "lstm"}}) {
    TrainedNetwork network(name, cell);
    Runtime free_runtime({.device = {.threads = 1}});
    Session unlimited(network.graph, free_runtime, TrainedNetwork::options({}));
    const Values expected = network.train(unlimited);
    EXPECT_LT(expected[3], expected[0] + 1);  // finite
    const std::int64_t least = largest_op_bytes(lower(network.graph, unlimited.op_profiles()));
    ASSERT_LT(least, unlimited.bytes_needed() / 2);
    double recomputed = 0;
    for (const char* planner : {"joint", "checkpoint", "belady", "swapadvisor"}) {
      SCOPED_TRACE(fmt::format("{} {} {}", name, cell, planner));
      Runtime runtime({.device = {.threads = 1}});
      Session session(network.graph, runtime, TrainedNetwork::options(SizeLimit{least}, planner));
      EXPECT_EQ(session.program().planner, planner);
      EXPECT_LE(session.program().arena_bytes, least);
      recomputed += session.program().predicted.recompute_seconds;
      EXPECT_EQ(network.train(session), expected);
    }
    EXPECT_GT(recomputed, 0) << "no planner recomputed anything";
  }
}

}  // namespace
}  // namespace swapadvisor
