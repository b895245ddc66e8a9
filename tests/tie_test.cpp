// Tied weights: one buffer with several names.
#include <gtest/gtest.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/train/runtime.h>
#include <swapadvisor/train/safetensors.h>
#include <swapadvisor/train/weights.h>
#include <temporary_folder.h>

#include "expect_error.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

const TensorSpec three = TensorSpec::dense(DType::f32, {3});

TEST(Tie, BothNamesFindTheBuffer) {
  Graph graph;
  const Tensor w = graph.parameter("embedding.weight", three, {});
  graph.tie("decoder.weight", w);
  graph.tie("decoder.weight", w);
  EXPECT_EQ(graph.find("decoder.weight").id(), w.id());
  EXPECT_EQ(graph.find_buffer("decoder.weight"), graph.find_buffer("embedding.weight"));
  EXPECT_EQ(graph.buffers().size(), 1U);
  EXPECT_EQ(graph.buffers()[0].name, "embedding.weight");
  EXPECT_EQ(graph.buffers()[0].aliases, std::vector<std::string>{"decoder.weight"});
}

TEST(Tie, RefusesOtherBuffersNamesViewsAndTemporaries) {
  Graph graph;
  const Tensor w = graph.parameter("w", three, {}), x = graph.input("x", three);
  expect_error([&] { graph.tie("x", w); }, "the graph has two buffers named 'x'");
  expect_error([&] { graph.tie("y", x); }, "'y' can be tied to a whole parameter or state only, not to 'x'");
  expect_error([&] { graph.tie("y", relu(x, "r")); }, "not to 'r'");
  expect_error([&] { graph.tie("y", graph.reshape(w, {1, 3})); }, "not to 'w'");
  graph.tie("v", w);
  expect_error([&] { graph.parameter("v", three, {}); }, "two buffers named 'v'");
}

void write_file(const std::string& file, const std::map<std::string, std::vector<float>>& tensors) {
  std::vector<StoredTensor> stored;
  for (const auto& [name, values] : tensors)
    stored.push_back({name, stored_type(DType::f32), {static_cast<std::int64_t>(values.size())}});
  SafetensorsWriter writer(file, stored);
  for (const auto& [name, values] : tensors) writer.write(name, std::as_bytes(std::span(values)));
  writer.commit();
}

TEST(Tie, FilesOfWeightsMayUseAnyName) {
  const TemporaryFolder folder;
  const std::string file = folder.path("w.safetensors");
  Graph graph("net");
  graph.tie("decoder.weight", graph.parameter("embedding.weight", three, {}));
  Runtime runtime({.device = {.threads = 1}});
  const auto loaded = [&](const std::map<std::string, std::vector<float>>& tensors) {
    write_file(file, tensors);
    load_weights(file, graph, runtime.host());
    const auto slot = runtime.host().find("embedding.weight");
    return from_bytes<float>({slot.begin(), slot.begin() + 12});
  };
  const std::vector<float> a{1, 2, 3}, b{4, 5, 6};
  EXPECT_EQ(loaded({{"embedding.weight", a}}), a);
  EXPECT_EQ(loaded({{"decoder.weight", b}}), b);
  EXPECT_EQ(loaded({{"decoder.weight", b}, {"embedding.weight", a}}), a);
  expect_error([&] { loaded({{"decoder.weight", {1}}}); }, "'embedding.weight' has shape [1], the model [3]");
  expect_error([&] { loaded({{"other", a}}); }, "'embedding.weight' is missing");

  // One copy goes to the file, as Transformers keeps it.
  save_weights(file, graph, runtime.host());
  const SafetensorsFile saved(file);
  EXPECT_NE(saved.find("embedding.weight"), nullptr);
  EXPECT_EQ(saved.find("decoder.weight"), nullptr);
}

}  // namespace
}  // namespace swapadvisor
