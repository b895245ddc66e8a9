// One SGD step of tiny BERTs and GPT-2 against Hugging Face Transformers', from
// scripts/golden_transformers.py (and golden_resnet18.py, which tells how a few projections measure the error
// of a whole tensor).
#include <gtest/gtest.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/train/training_graph.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "golden_file.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

using nlohmann::json;
using Values = std::vector<double>;

std::optional<std::int64_t> option(const json& model, const char* name) {
  if (!model.contains(name)) return std::nullopt;
  return model.at(name).get<std::int64_t>();
}

class GoldenTransformers : public testing::TestWithParam<const char*> {
 protected:
  json file_ = golden_file(fmt::format("{}_step.json", GetParam()));
  std::uint64_t seed_ = file_.at("seed");

  Model model() const {
    const json& m = file_.at("model");
    ModelOptions options;
    options.layers = option(m, "layers");
    options.hidden = option(m, "hidden");
    options.heads = option(m, "heads");
    options.seq_len = option(m, "seq_len");
    options.vocab = option(m, "vocab");
    options.classes = option(m, "classes");
    options.dropout = 0;
    return find_model(m.at("name").get<std::string>(), options);
  }

  StepOptions step_options(DType dtype) const {
    StepOptions options;
    options.batch_size = file_.at("batch");
    options.dtype = dtype;
    options.optimizer.momentum = 0;
    options.output_gradients = true;
    return options;
  }

  /// Values as the file says, over the initializers' for the rest (the finite flag).
  HostBuffers start_buffers(const Graph& graph) const {
    HostBuffers buffers = initial_buffers(graph, seed_);
    const auto put = [&](const std::string& name, const Values& values) {
      if (const int id = graph.find_buffer(name); id >= 0)
        buffers[name] = from_logical(graph.buffers()[static_cast<std::size_t>(id)].spec, values);
    };
    for (const json& entry : file_.at("start")) {
      const auto name = entry.at("name").get<std::string>();
      const auto dims = entry.at("shape").get<std::vector<std::int64_t>>();
      const TensorSpec spec = TensorSpec::dense(DType::f32, Shape(dims));
      std::vector<float> drawn(static_cast<std::size_t>(spec.numel()));
      const Initializer how = Initializer::uniform(entry.at("low"), entry.at("high"));
      initialize(std::as_writable_bytes(std::span(drawn)), spec, how, name, seed_);
      put(name, Values(drawn.begin(), drawn.end()));
    }
    for (const auto& [name, values] : file_.at("inputs").items()) put(name, values.get<Values>());
    put("step.learning_rate", {file_.at("lr").get<double>()});
    return buffers;
  }

  Values projections(const Values& a, std::size_t count) const {
    const RandomStream signs{hash_name("signs", seed_ ^ hash_name(""))};
    Values sums(count);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::uint32_t bits = signs.bits(i);
      for (std::size_t j = 0; j < count; ++j) sums[j] += (bits >> j & 1) != 0 ? a[i] : -a[i];
    }
    return sums;
  }

  /// |a − b| for a result and its golden fingerprint b.
  double difference(const Values& a, const json& expected) const {
    double squares = 0, differences = 0;
    for (double value : a) squares += value * value;
    const bool whole = expected.contains("values");
    const auto b = expected.at(whole ? "values" : "projections").get<Values>();
    const Values mine = whole ? a : projections(a, b.size());
    if (mine.size() != b.size()) return INFINITY;
    for (std::size_t i = 0; i < b.size(); ++i) differences += (mine[i] - b[i]) * (mine[i] - b[i]);
    if (!whole) differences /= static_cast<double>(b.size());
    // The norms differ by no more than |a − b|: a second, independent estimate from below.
    return std::max(std::sqrt(differences), std::abs(std::sqrt(squares) - expected.at("norm").get<double>()));
  }

  /// float64: every result to 1e-8 of its size, or of 1e-6 of its set's. float32: each set to three times
  /// PyTorch's own error.
  void expect_set(const Graph& graph, const HostBuffers& buffers, const std::string& set, DType dtype) const {
    const json& expected = file_.at("expected").at(set);
    const double norm = expected.at("norm");
    double squares = 0;
    ASSERT_FALSE(expected.at("results").empty());
    for (const json& result : expected.at("results")) {
      const auto name = result.at("name").get<std::string>();
      const int id = graph.find_buffer(name);
      ASSERT_GE(id, 0) << name;
      const TensorSpec& spec = graph.buffers()[static_cast<std::size_t>(id)].spec;
      const double error = difference(to_logical(spec, buffers.at(name)), result);
      squares += error * error;
      if (dtype == DType::f64) {
        EXPECT_LE(error, 1e-8 * std::max(result.at("norm").get<double>(), 1e-6 * norm)) << name;
      }
    }
    if (dtype == DType::f32) {
      EXPECT_LE(std::sqrt(squares) / norm, 3 * std::max(expected.at("float32_error").get<double>(), 0x1p-23))
          << set;
    }
  }

  void check_step(DType dtype, const KernelSet& kernels) const {
    Graph graph("golden");
    build_training_graph(graph, model(), step_options(dtype));
    HostBuffers buffers = start_buffers(graph);
    interpret(graph, kernels, buffers);
    for (const char* set : {"loss", "gradients", "parameters"}) expect_set(graph, buffers, set, dtype);
  }

  void check_evaluation(DType dtype, const KernelSet& kernels) const {
    Graph graph("golden");
    build_inference_graph(graph, model(), step_options(dtype));
    HostBuffers buffers = start_buffers(graph);
    interpret(graph, kernels, buffers);
    expect_set(graph, buffers, "evaluation", dtype);
  }
};

TEST_P(GoldenTransformers, StepInFloat64IsTransformers) {
  check_step(DType::f64, portable_kernels());
}

TEST_P(GoldenTransformers, StepInFloat32IsAsExactAsTransformers) {
  for (const KernelSet& kernels : {cpu_kernels(), portable_kernels()}) check_step(DType::f32, kernels);
}

TEST_P(GoldenTransformers, EvaluationIsTransformers) {
  check_evaluation(DType::f64, portable_kernels());
  check_evaluation(DType::f32, cpu_kernels());
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenTransformers,
                         testing::Values("bert-base", "bert-base-classifier", "gpt2"),
                         [](const auto& variant) {
                           std::string name = variant.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace swapadvisor
