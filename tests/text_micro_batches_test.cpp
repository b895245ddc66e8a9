// Gradient accumulation of models of text: a step of several micro-batches is the step of all samples at
// once, though the micro-batches have different numbers of labels that count.
#include <gtest/gtest.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <algorithm>
#include <cmath>

#include "interpret.h"
#include "small_training.h"

namespace swapadvisor {
namespace {

using Values = std::vector<double>;

constexpr std::int64_t samples = 6;

/// Values of an input for one sample, the same in whatever batch it is: tokens, classes of two, labels of
/// which few count, more of them in later samples.
Values sample_values(const std::string& name, const TensorSpec& spec, std::int64_t sample,
                     std::int64_t vocab) {
  const std::int64_t n = spec.numel() / spec.shape[0];
  const RandomStream random{7, static_cast<std::uint32_t>(hash_name(name)), 0};
  Values values;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::uint64_t>(sample * n + i);
    const bool is_label = name.find("label") != std::string::npos || name.find("target") != std::string::npos;
    if (is_floating(spec.dtype) || name.find("mask") != std::string::npos)
      values.push_back(1);
    else if (name.find("type") != std::string::npos || name.find("segment") != std::string::npos || n == 1)
      values.push_back(random.below(at, 2));
    else if (is_label && static_cast<std::int64_t>(random.below(at + 1000, 6)) > sample)
      values.push_back(ignored_label);
    else
      values.push_back(random.below(at, static_cast<std::uint32_t>(vocab)));
  }
  return values;
}

/// One step of `samples` samples in so many micro-batches.
HostBuffers step(const Model& model, std::int64_t micro_batches) {
  StepOptions options;
  options.batch_size = samples / micro_batches;
  options.micro_batches = micro_batches;
  options.dtype = DType::f64;
  options.optimizer = {.name = "sgd", .momentum = 0};
  options.output_gradients = true;
  Graph graph(model.info.name);
  build_training_graph(graph, model, options);
  HostBuffers buffers = initial_buffers(graph, 3);
  for (const Buffer& buffer : graph.buffers()) {
    if (buffer.kind != BufferKind::input) continue;
    if (buffer.spec.rank() == 0) {
      buffers[buffer.name] = from_logical(buffer.spec, {buffer.name == names::learning_rate ? 0.5 : 1.0});
      continue;
    }
    std::string name = buffer.name;
    std::int64_t first = 0;
    if (name.starts_with("micro")) {
      first = (name[5] - '0') * options.batch_size;
      name = name.substr(name.find('/') + 1);
    }
    Values values;
    for (std::int64_t s = first; s < first + options.batch_size; ++s) {
      const Values more = sample_values(name, buffer.spec, s, model.info.vocab);
      values.insert(values.end(), more.begin(), more.end());
    }
    buffers[buffer.name] = from_logical(buffer.spec, values);
  }
  interpret(graph, cpu_kernels(), buffers);
  return buffers;
}

class TextMicroBatches : public testing::TestWithParam<const char*> {};

TEST_P(TextMicroBatches, AreOneBatch) {
  ModelOptions options{.hidden = 12, .layers = 2, .seq_len = 7};
  options.dropout = 0;
  options.vocab = 23;
  options.heads = 3;
  const Model model = find_model(GetParam(), options);
  const HostBuffers whole = step(model, 1);
  for (const std::int64_t count : {2, 3}) {
    const HostBuffers parts = step(model, count);
    int compared = 0;
    for (const auto& [name, bytes] : whole) {
      const auto found = parts.find(name);
      if (found == parts.end() || found->second.size() != bytes.size() || bytes.size() % 8 != 0) continue;
      const bool is_gradient = name.starts_with("grad.");
      if (name != "loss" && !is_gradient && name.find("weight") == std::string::npos) continue;
      const Values expected = from_bytes<double>(bytes), actual = from_bytes<double>(found->second);
      double most = 1e-6;  // key biases have no gradient but rounding
      for (double v : expected) most = std::max(most, std::abs(v));
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], 1e-12 * most) << name << "[" << i << "] of " << count;
      compared += is_gradient ? 1 : 0;
    }
    EXPECT_GT(compared, 20) << "gradients of parameters";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TextMicroBatches, testing::Values("gpt2", "bert-base"),
                         [](const auto& model) { return std::string(model.param).substr(0, 4); });

}  // namespace
}  // namespace swapadvisor
