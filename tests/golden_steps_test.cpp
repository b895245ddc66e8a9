// One training step of small variants of the vision models against PyTorch's, from scripts/golden_steps.py.
#include <gtest/gtest.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/models/registry.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/train/training_graph.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "fingerprint.h"
#include "golden_file.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

using nlohmann::json;
using Values = std::vector<double>;

constexpr Layout layouts[] = {Layout::row_major, Layout::channels_last};
/// Error below which float32 results cannot be told apart.
constexpr double float32_precision = 0x1p-23;

class GoldenSteps : public testing::TestWithParam<const char*> {
 protected:
  json file_ = golden_file(GetParam());
  std::uint64_t seed_ = file_.at("seed");
  std::int64_t batch_ = file_.at("batch");

  Model model() const {
    const json& o = file_.at("model");
    const auto number = [&](const char* name) {
      return o.contains(name) ? o.at(name).get<std::int64_t>() : std::optional<std::int64_t>();
    };
    ModelOptions options;
    options.image_size = number("image_size");
    options.classes = number("classes");
    options.width = number("width");
    options.hidden = number("hidden");
    options.depth = number("depth");
    options.cells = number("cells");
    if (o.contains("auxiliary_weight")) options.auxiliary_weight = o.at("auxiliary_weight").get<double>();
    options.dropout = 0;
    return find_model(o.at("name").get<std::string>(), options);
  }

  StepOptions step_options(DType dtype, Layout layout) const {
    StepOptions step;
    step.batch_size = batch_;
    step.dtype = dtype;
    step.layout = layout;
    step.optimizer.momentum = 0;
    step.output_gradients = true;
    return step;
  }

  /// The golden start, over the initializers' values for the rest (the finite flag).
  HostBuffers start_buffers(const Graph& graph) const {
    HostBuffers buffers = initial_buffers(graph, seed_);
    const auto set = [&](const std::string& name, const Values& values) {
      if (const int id = graph.find_buffer(name); id >= 0)
        buffers[name] = from_logical(graph.buffers()[static_cast<std::size_t>(id)].spec, values);
    };
    for (const json& entry : file_.at("start")) {
      const auto name = entry.at("name").get<std::string>();
      const TensorSpec spec =
          TensorSpec::dense(DType::f32, Shape(entry.at("shape").get<std::vector<std::int64_t>>()));
      std::vector<float> drawn(static_cast<std::size_t>(spec.numel()));
      initialize(std::as_writable_bytes(std::span(drawn)), spec,
                 Initializer::uniform(entry.at("low"), entry.at("high")), name, seed_);
      set(name, Values(drawn.begin(), drawn.end()));
    }
    const RandomStream labels{hash_name("target", seed_ ^ hash_name(""))};
    const auto classes = file_.at("model").at("classes").get<std::uint32_t>();
    Values target;
    for (std::int64_t i = 0; i < batch_; ++i)
      target.push_back(labels.below(static_cast<std::uint64_t>(i), classes));
    set("target", target);
    set("step.learning_rate", {0.1});
    return buffers;
  }

  static Values read(const Graph& graph, const HostBuffers& buffers, const std::string& name) {
    const int id = graph.find_buffer(name);
    if (id < 0) fail("the graph has no buffer '{}'", name);
    return to_logical(graph.buffers()[static_cast<std::size_t>(id)].spec, buffers.at(name));
  }

  /// Per result in float64; as a whole in float32, since of hundreds of results some are exact in PyTorch by
  /// luck.
  void expect_set(const std::string& set, const Graph& graph, const HostBuffers& buffers, DType dtype) const {
    if (!file_.at("expected").contains(set)) return;  // VGG has no statistics
    const json& expected = file_.at("expected").at(set);
    const double whole = expected.at("norm");
    double squares = 0;
    ASSERT_FALSE(expected.at("results").empty());
    for (const json& result : expected.at("results")) {
      const auto name = result.at("name").get<std::string>();
      const double difference = fingerprint_difference(read(graph, buffers, name), result, seed_);
      squares += difference * difference;
      if (dtype == DType::f64) {
        EXPECT_LE(difference, 1e-8 * std::max(result.at("norm").get<double>(), 1e-6 * whole)) << name;
      }
    }
    if (dtype == DType::f64) return;
    EXPECT_LE(std::sqrt(squares) / whole,
              3 * std::max(expected.at("float32_error").get<double>(), float32_precision))
        << set;
  }

  void check_step(DType dtype, Layout layout, const KernelSet& kernels) const {
    Graph graph("golden");
    build_training_graph(graph, model(), step_options(dtype, layout));
    HostBuffers buffers = start_buffers(graph);
    interpret(graph, kernels, buffers);
    for (const char* set : {"loss", "gradients", "statistics"}) expect_set(set, graph, buffers, dtype);
  }

  void check_evaluation(DType dtype, Layout layout, const KernelSet& kernels) const {
    Graph graph("golden");
    build_inference_graph(graph, model(), step_options(dtype, layout));
    HostBuffers buffers = start_buffers(graph);
    interpret(graph, kernels, buffers);
    expect_set("evaluation", graph, buffers, dtype);
  }
};

TEST_P(GoldenSteps, InFloat64ArePyTorchs) {
  for (Layout layout : layouts) {
    check_step(DType::f64, layout, portable_kernels());
    check_evaluation(DType::f64, layout, portable_kernels());
  }
}

TEST_P(GoldenSteps, InFloat32AreAsExactAsPyTorchs) {
  for (Layout layout : layouts)
    for (const KernelSet& kernels : {cpu_kernels(), portable_kernels()}) {
      check_step(DType::f32, layout, kernels);
      check_evaluation(DType::f32, layout, kernels);
    }
}

INSTANTIATE_TEST_SUITE_P(Vision, GoldenSteps,
                         testing::Values("vgg16_step.json", "wrn28-10_step.json", "inception_v4_step.json",
                                         "nasnet-a_step.json"),
                         [](const testing::TestParamInfo<const char*>& file) {
                           std::string name = file.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name.substr(0, name.find("_step"));
                         });

}  // namespace
}  // namespace swapadvisor
