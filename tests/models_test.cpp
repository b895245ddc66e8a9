#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/models/layers.h>
#include <swapadvisor/models/registry.h>
#include <swapadvisor/models/resnet.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "golden_file.h"

namespace swapadvisor {
namespace {

/// The forward pass of a model in a graph of its own.
struct Built {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Tensor logits;

  Built(std::string_view name, const ModelOptions& options, const ModelContext& context,
        std::int64_t batch = 2) {
    const Model model = find_model(name, options);
    ModelTensors tensors;
    for (const ModelInput& input : model.inputs)
      tensors.emplace(input.name, graph->input(input.name, input.spec(batch, context.dtype)));
    logits = model.predict(Scope(*graph, context), tensors).front().logits;
  }

  /// "NAME [a, b]" per parameter and state, in builder order.
  std::vector<std::string> state_dict() const {
    std::vector<std::string> lines;
    for (const Buffer& buffer : graph->buffers())
      if (is_persistent(buffer.kind)) lines.push_back(buffer.name + " " + to_string(buffer.spec.shape));
    return lines;
  }

  const Buffer& buffer(const std::string& name) const {
    const int id = graph->find_buffer(name);
    if (id < 0) fail("there is no buffer '{}'", name);
    return graph->buffers()[static_cast<std::size_t>(id)];
  }

  int count(std::string_view type) const {
    int n = 0;
    for (const Node& node : graph->nodes()) n += node.op->type() == type;
    return n;
  }

  Shape output_shape(std::string_view node_name) const {
    for (const Node& node : graph->nodes())
      if (node.name == node_name) return graph->spec(node.outputs[0]).shape;
    fail("there is no node '{}'", node_name);
  }
};

TEST(Models, ParametersAndStatesAreThoseOfPyTorch) {
  const nlohmann::json golden = golden_file("models.json").at("models");
  std::set<std::string> listed;
  for (const ModelInfo& info : model_list()) {
    SCOPED_TRACE(info.name);
    listed.insert(info.name);
    ASSERT_TRUE(golden.contains(info.name));
    const nlohmann::json& expected = golden.at(info.name);
    const Built built(info.name, {}, {});
    const std::vector<std::string> lines = built.state_dict();
    if (expected.contains("lines")) {
      EXPECT_EQ(lines, expected.at("lines").get<std::vector<std::string>>());
    }
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    EXPECT_EQ(lines.size(), expected.at("entries").get<std::size_t>());
    EXPECT_EQ(fmt::format("{:016x}", hash_name(text)), expected.at("hash").get<std::string>());
    EXPECT_EQ(parameter_count(*built.graph), expected.at("parameters").get<std::int64_t>());
  }
  for (const auto& item : golden.items()) EXPECT_TRUE(listed.contains(item.key())) << item.key();
}

TEST(Models, ParameterCountsPublishedByTorchvision) {
  const std::map<std::string, std::int64_t> published = {
      {"resnet18", 11689512},         {"resnet34", 21797672},  {"resnet50", 25557032},
      {"resnet101", 44549160},        {"resnet152", 60192808}, {"wide_resnet50_2", 68883240},
      {"wide_resnet101_2", 126886696}};
  for (const auto& [name, count] : published)
    EXPECT_EQ(parameter_count(*Built(name, {}, {}).graph), count) << name;
}

TEST(Models, LogitsHaveOneRowPerImageInEveryModeAndLayout) {
  for (const char* name : {"mlp", "resnet20", "resnet18", "resnet50"})
    for (Mode mode : {Mode::train, Mode::eval})
      for (Layout layout : {Layout::row_major, Layout::channels_last})
        for (DType dtype : {DType::f32, DType::f64}) {
          const Built built(name, {.image_size = 64, .classes = 7}, {mode, dtype, layout}, 3);
          EXPECT_EQ(built.logits.spec(), TensorSpec::dense(dtype, {3, 7})) << name;
        }
}

TEST(Models, TrainAndEvalGraphsShareTheirPersistentBuffers) {
  for (const char* name : {"resnet20", "resnet50"})
    EXPECT_EQ(Built(name, {}, {Mode::train}).state_dict(), Built(name, {}, {Mode::eval}).state_dict());
}

TEST(Models, OptionsChangeTheShapes) {
  const Built narrow("resnet18", {.image_size = 28, .channels = 1, .classes = 10, .width = 8}, {});
  EXPECT_EQ(narrow.buffer("conv1.weight").spec.shape, (Shape{8, 1, 7, 7}));
  EXPECT_EQ(narrow.buffer("layer4.1.conv2.weight").spec.shape, (Shape{64, 64, 3, 3}));
  EXPECT_EQ(narrow.buffer("fc.weight").spec.shape, (Shape{10, 64}));

  const Built wide("wide_resnet50_2", {.width = 32}, {});
  EXPECT_EQ(wide.buffer("layer1.0.conv2.weight").spec.shape, (Shape{64, 64, 3, 3}));
  EXPECT_EQ(wide.buffer("layer1.0.conv3.weight").spec.shape, (Shape{128, 64, 1, 1}));

  const Built cifar("resnet20", {.classes = 100, .width = 4}, {});
  EXPECT_EQ(cifar.buffer("layer3.2.conv2.weight").spec.shape, (Shape{16, 16, 3, 3}));
  EXPECT_EQ(cifar.buffer("fc.weight").spec.shape, (Shape{100, 16}));

  const Built deep("mlp", {.hidden = 5, .layers = 3}, {});
  EXPECT_EQ(parameter_count(*deep.graph), 784 * 5 + 5 + 2 * (5 * 5 + 5) + 5 * 10 + 10);
  const Built softmax("mlp", {.layers = 0}, {});
  EXPECT_EQ(softmax.state_dict(), (std::vector<std::string>{"fc1.weight [10, 784]", "fc1.bias [10]"}));
}

TEST(Models, StridesAreWhereTorchvisionHasThem) {
  const Built bottleneck("resnet50", {}, {});
  EXPECT_EQ(bottleneck.output_shape("conv1"), (Shape{2, 64, 112, 112}));
  EXPECT_EQ(bottleneck.output_shape("maxpool"), (Shape{2, 64, 56, 56}));
  EXPECT_EQ(bottleneck.output_shape("layer2.0.conv1"), (Shape{2, 128, 56, 56}));
  EXPECT_EQ(bottleneck.output_shape("layer2.0.conv2"), (Shape{2, 128, 28, 28}));
  EXPECT_EQ(bottleneck.output_shape("layer2.0.downsample.0"), (Shape{2, 512, 28, 28}));
  EXPECT_EQ(bottleneck.output_shape("layer4.2.relu3"), (Shape{2, 2048, 7, 7}));

  const Built basic("resnet18", {}, {});
  EXPECT_EQ(basic.output_shape("layer2.0.conv1"), (Shape{2, 128, 28, 28}));
  const Built cifar("resnet20", {}, {});
  EXPECT_EQ(cifar.output_shape("layer1.2.relu2"), (Shape{2, 16, 32, 32}));
  EXPECT_EQ(cifar.output_shape("layer3.2.relu2"), (Shape{2, 64, 8, 8}));
}

void expect_init(const Initializer& init, Initializer::Kind kind, double a, double b) {
  EXPECT_EQ(init.kind, kind);
  EXPECT_DOUBLE_EQ(init.a, a);
  EXPECT_DOUBLE_EQ(init.b, b);
}

TEST(Models, FirstValuesAreTorchvisions) {
  using Kind = Initializer::Kind;
  const Built built("resnet50", {}, {});
  expect_init(built.buffer("conv1.weight").init, Kind::normal, 0, std::sqrt(2.0 / (64 * 7 * 7)));
  expect_init(built.buffer("layer1.0.conv3.weight").init, Kind::normal, 0, std::sqrt(2.0 / 256));
  expect_init(built.buffer("layer1.0.bn3.weight").init, Kind::constant, 1, 0);
  expect_init(built.buffer("layer1.0.bn3.bias").init, Kind::constant, 0, 0);
  expect_init(built.buffer("bn1.running_mean").init, Kind::constant, 0, 0);
  expect_init(built.buffer("bn1.running_var").init, Kind::constant, 1, 0);
  expect_init(built.buffer("bn1.num_batches_tracked").init, Kind::constant, 0, 0);
  const double bound = 1 / std::sqrt(2048.0);
  expect_init(built.buffer("fc.weight").init, Kind::uniform, -bound, bound);
  expect_init(built.buffer("fc.bias").init, Kind::uniform, -bound, bound);
  EXPECT_EQ(built.buffer("bn1.num_batches_tracked").spec, TensorSpec::dense(DType::i64, {}));
  EXPECT_EQ(built.buffer("bn1.running_mean").kind, BufferKind::state);
  EXPECT_EQ(built.buffer("bn1.weight").kind, BufferKind::parameter);
}

TEST(Models, RunningStatisticsWaitForTheFiniteFlag) {
  Built training("resnet18", {}, {Mode::train});
  EXPECT_EQ(training.count("batch_norm"), 20);
  EXPECT_EQ(training.count("bn_running_update"), 0);
  training.graph->apply_deferred_updates(
      training.graph->state("finite", TensorSpec::dense(DType::i32, {}), Initializer::constant(1)));
  EXPECT_EQ(training.count("bn_running_update"), 20);

  Built evaluation("resnet18", {}, {Mode::eval});
  EXPECT_EQ(evaluation.count("batch_norm"), 0);
  evaluation.graph->apply_deferred_updates(
      evaluation.graph->state("finite", TensorSpec::dense(DType::i32, {}), Initializer::constant(1)));
  EXPECT_EQ(evaluation.count("bn_running_update"), 0);
}

TEST(Models, UnknownNamesListTheClosestFirst) {
  const std::string error = message_of([] { find_model("resnet51"); });
  EXPECT_TRUE(error.starts_with("there is no model 'resnet51': the models are resnet")) << error;
  for (const ModelInfo& info : model_list()) EXPECT_NE(error.find(info.name), std::string::npos) << info.name;
  EXPECT_NE(message_of([] { find_model("mpl"); }).find("the models are mlp,"), std::string::npos);
  EXPECT_NE(message_of([] { find_model("wideresnet50_2"); }).find("the models are wide_resnet50_2,"),
            std::string::npos);
  EXPECT_NE(message_of([] { find_model(""); }).find("there is no model ''"), std::string::npos);
}

TEST(Models, BadOptionsAreRefusedInOneSentence) {
  EXPECT_EQ(message_of([] { find_model("resnet18", {.width = 0}); }),
            "the width of resnet18 must be from 1 to 65536, got 0");
  EXPECT_EQ(message_of([] { find_model("resnet18", {.width = INT64_MAX}); }),
            "the width of resnet18 must be from 1 to 65536, got 9223372036854775807");
  EXPECT_EQ(message_of([] { find_model("resnet50", {.image_size = -3}); }),
            "the image size of resnet50 must be from 1 to 65536, got -3");
  EXPECT_EQ(message_of([] { find_model("mlp", {.classes = 0}); }),
            "the number of classes of mlp must be from 1 to 16777216, got 0");
  EXPECT_EQ(message_of([] { find_model("mlp", {.layers = -1}); }),
            "the number of hidden layers of mlp must be from 0 to 10000, got -1");
  EXPECT_EQ(message_of([] { find_model("resnet18", {.hidden = 4}); }), "resnet18 takes no option 'hidden'");
  EXPECT_EQ(message_of([] { find_model("mlp", {.width = 4}); }), "mlp takes no option 'width'");
  EXPECT_EQ(message_of([] { resnet_options(19); }),
            "there is no ResNet of depth 19: expected 18, 34, 50, 101 or 152");
}

TEST(Models, ImagesOfAnotherShapeAreRefused) {
  const Model model = find_model("resnet20");
  for (const Shape& shape : {Shape{4, 1, 32, 32}, Shape{4, 3, 32, 28}, Shape{4, 3 * 32 * 32}}) {
    Graph graph;
    const Tensor images = graph.input("input", TensorSpec::dense(DType::f32, shape));
    EXPECT_EQ(message_of([&] { model.logits(Scope(graph, {}), images); }),
              fmt::format("resnet20 expects images [N, 3, 32, 32], got {}", to_string(shape)));
  }
}

TEST(Models, ImagesTooSmallForBatchNormAreRefusedInTrainingOnly) {
  EXPECT_EQ(
      message_of([] { Built("resnet18", {.image_size = 32}, {Mode::train}, 1); }),
      "[batch_norm layer4.0.bn1] needs more than one value per channel in training, got [1, 512, 1, 1]");
  EXPECT_NO_THROW(Built("resnet18", {.image_size = 32}, {Mode::eval}, 1));
  EXPECT_NO_THROW(Built("resnet18", {.image_size = 1}, {Mode::train}, 2));
}

TEST(Layers, ConvolutionsSplitChannelsIntoGroups) {
  Graph graph;
  const Scope scope(graph, {Mode::train, DType::f32, Layout::row_major});
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {2, 6, 9, 9}));
  const Tensor y = conv2d(scope / "grouped", x, 4, {1, 7}, {.padding = {0, 3}, .groups = 2});
  EXPECT_EQ(y.shape(), (Shape{2, 4, 9, 9}));
  EXPECT_EQ(graph.find("grouped.weight").shape(), (Shape{4, 3, 1, 7}));
  EXPECT_EQ(message_of([&] { conv2d(scope / "bad", x, 4, 3, {.groups = 4}); }),
            "[conv2d bad] 6 input and 4 output channels cannot be split into 4 groups");
  EXPECT_EQ(message_of([&] { linear(scope / "fc", x, 4); }),
            "[linear fc] expects an input of 2 or 3 dimensions, got [2, 6, 9, 9]");
}

TEST(Layers, TwoLayersOfOneNameAreRefused) {
  Graph graph;
  const Scope scope(graph, {});
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {2, 6}));
  linear(scope / "fc", x, 4);
  EXPECT_EQ(message_of([&] { linear(scope / "fc", x, 4); }), "the graph has two buffers named 'fc.weight'");
}

}  // namespace
}  // namespace swapadvisor
