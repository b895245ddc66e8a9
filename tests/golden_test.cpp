// One SGD step of a narrow ResNet-18 against PyTorch's, from scripts/golden_resnet18.py (which also tells how
// a few projections measure the error of a whole tensor).
#include <gtest/gtest.h>
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/models/registry.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/finite_check.h>
#include <swapadvisor/ops/sgd.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "fingerprint.h"
#include "golden_file.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

using nlohmann::json;
using Values = std::vector<double>;

/// Error below which float32 results cannot be told apart.
constexpr double float32_precision = 0x1p-23;

class Golden : public testing::Test {
 protected:
  json file_ = golden_file("resnet18_step.json");
  std::uint64_t seed_ = file_.at("seed");
  std::int64_t batch_ = file_.at("batch");
  std::int64_t classes_ = file_.at("model").at("classes");

  Model model() const {
    const json& options = file_.at("model");
    return find_model(
        options.at("name").get<std::string>(),
        {.image_size = options.at("image_size"), .classes = classes_, .width = options.at("width")});
  }

  /// Start values by name; the same formula as start_value in scripts/torch_models.py.
  std::map<std::string, Values> start_values() const {
    std::map<std::string, Values> values;
    for (const json& entry : file_.at("start")) {
      const auto name = entry.at("name").get<std::string>();
      const auto dims = entry.at("shape").get<std::vector<std::int64_t>>();
      const TensorSpec spec = TensorSpec::dense(DType::f32, Shape(dims));
      std::vector<float> drawn(static_cast<std::size_t>(spec.numel()));
      const Initializer how = Initializer::uniform(entry.at("low"), entry.at("high"));
      initialize(std::as_writable_bytes(std::span(drawn)), spec, how, name, seed_);
      values[name] = Values(drawn.begin(), drawn.end());
    }
    const RandomStream labels{hash_name("target", seed_ ^ hash_name(""))};
    for (std::int64_t i = 0; i < batch_; ++i)
      values["target"].push_back(
          labels.below(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(classes_)));
    return values;
  }

  /// Forward, backward and SGD. Outputs "loss" and "grad.NAME"; momentum buffers are states "momentum.NAME".
  void build_step(Graph& graph, const ModelContext& context) const {
    const Tensor images = graph.input("input", model().input_spec(batch_, context.dtype));
    const Tensor labels = graph.input("target", TensorSpec::dense(DType::i32, {batch_}));
    const Tensor lr = graph.input("step.learning_rate", TensorSpec::dense(DType::f64, {}));
    const Tensor flag = graph.state("finite", TensorSpec::dense(DType::i32, {}), Initializer::constant(1));
    const Tensor loss = softmax_cross_entropy(model().logits(Scope(graph, context), images), labels);
    const std::vector<Tensor> parameters = graph.parameters();
    const std::vector<Tensor> slopes = gradients(loss, parameters);
    const Tensor finite = finite_check(loss, flag);
    graph.apply_deferred_updates(finite);
    const json& sgd = file_.at("sgd");
    const SgdOptions options{.momentum = sgd.at("momentum"), .weight_decay = sgd.at("weight_decay")};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::string name = parameters[i].name();
      const Tensor momentum = graph.state("momentum." + name, parameters[i].spec(), Initializer::zeros());
      sgd_update(parameters[i], slopes[i], momentum, lr, finite, options, "update/" + name);
      graph.output(slopes[i], "grad." + name);
    }
    graph.output(loss, "loss");
  }

  /// |a − b| / max(|b|, floor) for a result and its golden fingerprint b.
  double error_of(const Values& a, const json& expected, double floor) const {
    const double difference = fingerprint_difference(a, expected, seed_);
    return difference > 0 ? difference / std::max(expected.at("norm").get<double>(), floor) : difference;
  }

  /// Every result of one set of the file ("gradients", …) is within `limit(golden result)`. NaN is not.
  template <class Read, class Limit>
  void expect_set(const std::string& set, Read&& read, Limit&& limit) const {
    const json& expected = file_.at("expected").at(set);
    const double floor = 1e-6 * expected.at("norm").get<double>();
    ASSERT_FALSE(expected.at("results").empty());
    for (const json& result : expected.at("results")) {
      const auto name = result.at("name").get<std::string>();
      EXPECT_LE(error_of(read(name), result, floor), limit(result)) << name;
    }
  }

  /// The start values that `graph` has buffers for, over the initializers' for the rest (the finite flag).
  HostBuffers start_buffers(const Graph& graph) const {
    HostBuffers buffers = initial_buffers(graph, seed_);
    std::map<std::string, Values> values = start_values();
    values["step.learning_rate"] = {file_.at("sgd").at("lr").get<double>()};
    for (const auto& [name, of_name] : values)
      if (const int id = graph.find_buffer(name); id >= 0)
        buffers[name] = from_logical(graph.buffers()[static_cast<std::size_t>(id)].spec, of_name);
    return buffers;
  }

  static Values read(const Graph& graph, const HostBuffers& buffers, const std::string& name) {
    const int id = graph.find_buffer(name);
    if (id < 0) fail("the graph has no buffer '{}'", name);
    return to_logical(graph.buffers()[static_cast<std::size_t>(id)].spec, buffers.at(name));
  }

  /// Runs the step from the golden start and checks every result.
  template <class Limit>
  void check_step(const ModelContext& context, const KernelSet& kernels, Limit&& limit) const {
    Graph graph("golden");
    build_step(graph, context);
    HostBuffers buffers = start_buffers(graph);
    interpret(graph, kernels, buffers);
    const auto result = [&](const std::string& name) { return read(graph, buffers, name); };
    for (const char* set : {"loss", "gradients", "parameters", "momentum", "statistics"})
      expect_set(set, result, limit);
    EXPECT_EQ(result("finite"), Values{1});
  }

  template <class Limit>
  void check_evaluation(const ModelContext& context, const KernelSet& kernels, Limit&& limit) const {
    Graph graph("golden");
    const Tensor images = graph.input("input", model().input_spec(batch_, context.dtype));
    graph.output(model().logits(Scope(graph, context), images), "logits");
    HostBuffers buffers = start_buffers(graph);
    interpret(graph, kernels, buffers);
    expect_set(
        "evaluation", [&](const std::string& name) { return read(graph, buffers, name); }, limit);
  }
};

double exact(const json&) {
  return 1e-8;
}

/// Three times the error of PyTorch's own float32 step.
double single(const json& result) {
  return 3 * std::max(result.at("float32_error").get<double>(), float32_precision);
}

TEST_F(Golden, StepInFloat64IsPyTorchs) {
  for (Layout layout : {Layout::row_major, Layout::channels_last})
    check_step({Mode::train, DType::f64, layout}, portable_kernels(), exact);
}

TEST_F(Golden, StepInFloat32IsAsExactAsPyTorchs) {
  for (Layout layout : {Layout::row_major, Layout::channels_last})
    for (const KernelSet& kernels : {cpu_kernels(), portable_kernels()})
      check_step({Mode::train, DType::f32, layout}, kernels, single);
}

TEST_F(Golden, EvaluationIsPyTorchs) {
  for (Layout layout : {Layout::row_major, Layout::channels_last}) {
    check_evaluation({Mode::eval, DType::f64, layout}, portable_kernels(), exact);
    check_evaluation({Mode::eval, DType::f32, layout}, cpu_kernels(), single);
  }
}

/// A measure that cannot see an error would let any step pass.
TEST_F(Golden, FingerprintsSeeASmallErrorAnywhere) {
  const Values conv = start_values().at("layer4.1.conv2.weight");
  json expected{{"projections", projections(conv, 32, seed_)}};
  double squares = 0;
  for (double value : conv) squares += value * value;
  const double norm = std::sqrt(squares);
  expected["norm"] = norm;
  EXPECT_EQ(error_of(conv, expected, 0), 0);
  for (std::size_t i = 0; i < conv.size(); i += 997) {
    Values changed = conv;
    changed[i] += 1e-7 * norm;
    EXPECT_NEAR(error_of(changed, expected, 0), 1e-7, 1e-10);
  }
  Values spread = conv;
  for (double& value : spread) value *= 1 + 1e-7;
  EXPECT_NEAR(error_of(spread, expected, 0), 1e-7, 5e-8);
}

}  // namespace
}  // namespace swapadvisor
