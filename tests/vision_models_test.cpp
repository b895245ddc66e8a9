// VGG-16, WRN-28-10, Inception-v4 and NASNet-A, and the widened ResNets: counts, sizes, what options change,
// errors.
#include <swapadvisor/models/registry.h>
#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/drop_path.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/train/training_graph.h>

#include <array>
#include <map>
#include <memory>

#include "expect_error.h"

namespace swapadvisor {
namespace {

/// The forward pass of a model, in training unless told otherwise.
struct Network {
  Network(std::string_view name, const ModelOptions& options, const ModelContext& context = {}) {
    const Model model = find_model(name, options);
    const Tensor images = graph->input("input", model.input_spec(2, context.dtype));
    predictions = model.predict(Scope(*graph, context), {{"input", images}});
  }

  std::int64_t parameters() const { return parameter_count(*graph); }
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
  Shape shape(const std::string& name) const { return graph->find(name).shape(); }

  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::vector<ModelPrediction> predictions;
};

TEST(VisionModels, ParameterCountsPublished) {
  EXPECT_EQ(Network("vgg16", {}).parameters(), 138'357'544);        // torchvision
  EXPECT_EQ(Network("wrn28-10", {}).parameters(), 36'479'194);      // "36.5M" in the paper's table 4
  EXPECT_EQ(Network("inception_v4", {}).parameters(), 42'679'816);  // timm
  EXPECT_EQ(Network("nasnet-a", {}).parameters(), 88'753'150);      // timm, without auxiliary head
}

/// ResNet-152 with k times the channels: its convolutions but the first grow with k² (inputs and outputs),
/// the first, the batch norms and the weight of the classifier with k, and the bias of the classifier stays.
std::int64_t wide_resnet152_parameters(std::int64_t k) {
  constexpr std::array<std::int64_t, 4> blocks{3, 8, 36, 3};
  std::int64_t products = 0, channels = 64, inputs = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t p = std::int64_t{64} << stage, n = blocks[static_cast<std::size_t>(stage)];
    products += inputs * p + (n - 1) * 4 * p * p;  // 1×1, from the stage before or the block before
    products += n * (9 * p * p + 4 * p * p);       // 3×3 and 1×1
    products += inputs * 4 * p;                    // projection
    channels += n * (p + p + 4 * p) + 4 * p;
    inputs = 4 * p;
  }
  return products * k * k + (64 * 3 * 49 + 2 * channels + 1000 * inputs) * k + 1000;
}

TEST(VisionModels, WResNet152CountsFollowAClosedFormula) {
  EXPECT_EQ(wide_resnet152_parameters(1), 60'192'808);  // torchvision's resnet152
  EXPECT_EQ(wide_resnet152_parameters(4), 57'982'976LL * 16 + 2'208'832LL * 4 + 1000);
  for (std::int64_t k = 1; k <= 10; ++k)
    EXPECT_EQ(Network("resnet152", {.width = 64 * k}).parameters(), wide_resnet152_parameters(k)) << k;
  for (std::int64_t k : {4, 10})
    EXPECT_EQ(Network(fmt::format("wresnet152-{}", k), {}).parameters(), wide_resnet152_parameters(k)) << k;
  // "Every convolution's output channels × k, stem included".
  const Network plain("resnet152", {}), wide("wresnet152-4", {});
  for (const Buffer& buffer : plain.graph->buffers())
    if (buffer.spec.rank() == 4 && buffer.kind == BufferKind::parameter) {
      EXPECT_EQ(wide.shape(buffer.name)[0], 4 * buffer.spec.shape[0]) << buffer.name;
    }
}

TEST(VisionModels, LogitsHaveOneRowPerImageInEveryModeAndLayout) {
  const std::map<std::string, ModelOptions> small{
      {"vgg16", {.image_size = 40, .classes = 7, .width = 4, .hidden = 8}},
      {"wrn28-10", {.image_size = 16, .classes = 7, .width = 1}},
      {"inception_v4", {.image_size = 75, .classes = 7, .width = 1}},
      {"nasnet-a", {.image_size = 70, .classes = 7, .width = 4, .cells = 4}}};
  for (const auto& [name, options] : small)
    for (Mode mode : {Mode::train, Mode::eval})
      for (Layout layout : {Layout::row_major, Layout::channels_last}) {
        const Network network(name, options, {mode, DType::f32, layout});
        ASSERT_EQ(network.predictions.size(), 1U);
        EXPECT_EQ(network.predictions[0].logits.spec(), TensorSpec::dense(DType::f32, {2, 7})) << name;
        EXPECT_EQ(network.count("to_layout"), layout == Layout::channels_last ? (name == "vgg16" ? 2 : 1) : 0)
            << name;
      }
}

TEST(VisionModels, TrainAndEvalGraphsShareTheirPersistentBuffers) {
  const auto names = [](std::string_view model, Mode mode) {
    std::vector<std::string> all;
    const Network network(model, {}, {mode});
    for (const Buffer& buffer : network.graph->buffers())
      if (is_persistent(buffer.kind)) all.push_back(buffer.name + to_string(buffer.spec));
    return all;
  };
  for (const char* name : {"vgg16", "wrn28-10", "inception_v4", "nasnet-a"})
    EXPECT_EQ(names(name, Mode::train), names(name, Mode::eval)) << name;
}

TEST(VisionModels, Vgg16AveragesFeaturesOfOtherSizes) {
  EXPECT_EQ(Network("vgg16", {}).count("adaptive_avg_pool2d"), 0);  // 7 × 7 already
  const Network small("vgg16", {.image_size = 96});
  EXPECT_EQ(small.output_shape("features.30"), (Shape{2, 512, 3, 3}));
  EXPECT_EQ(small.output_shape("avgpool"), (Shape{2, 512, 7, 7}));
  EXPECT_EQ(small.parameters(), 138'357'544);
  expect_error([] { Network("vgg16", {.image_size = 31}); },
               "[max_pool2d features.30] a kernel height of 2 exceeds");
}

TEST(VisionModels, DropoutIsForTrainingOnly) {
  const auto drops = [](const char* name, const ModelOptions& options, Mode mode) {
    return Network(name, options, {mode}).count("dropout");
  };
  EXPECT_EQ(drops("vgg16", {}, Mode::train), 2);
  EXPECT_EQ(drops("vgg16", {.dropout = 0}, Mode::train), 0);
  EXPECT_EQ(drops("vgg16", {}, Mode::eval), 0);
  EXPECT_EQ(drops("wrn28-10", {}, Mode::train), 0);
  EXPECT_EQ(drops("wrn28-10", {.dropout = 0.3}, Mode::train), 12);
  EXPECT_EQ(drops("inception_v4", {.dropout = 0.2}, Mode::train), 1);
  EXPECT_EQ(drops("nasnet-a", {.dropout = 0.5, .cells = 3}, Mode::train), 1);
}

TEST(VisionModels, WideResNetDepthIsSixNPlusFour) {
  const Network shallow("wrn28-10", {.width = 2, .depth = 16});
  EXPECT_EQ(shallow.parameters(), 691'674);  // WRN-16-2
  EXPECT_EQ(shallow.shape("group2.block1.conv1.weight"), (Shape{128, 128, 3, 3}));
  EXPECT_EQ(Network("wrn28-10", {.width = 1, .depth = 40}).parameters(), 563'930);  // WRN-40-1: "0.6M"
  EXPECT_FALSE(Network("wrn28-10", {.width = 1}).graph->find("group0.block0.convdim.weight"));
  for (std::int64_t depth : {4, 20, 29})
    expect_error(
        [&] { Network("wrn28-10", {.depth = depth}); },
        fmt::format("the depth of a wide residual network is 6n + 4 (10, 16, 22, 28, …), got {}", depth));
}

TEST(VisionModels, InceptionV4HasThePapersGrids) {
  const Network network("inception_v4", {});
  EXPECT_EQ(network.output_shape("features.3.concat"), (Shape{2, 160, 73, 73}));
  EXPECT_EQ(network.output_shape("features.5.concat"), (Shape{2, 384, 35, 35}));
  EXPECT_EQ(network.output_shape("features.10.concat"), (Shape{2, 1024, 17, 17}));
  EXPECT_EQ(network.output_shape("features.18.concat"), (Shape{2, 1536, 8, 8}));
  EXPECT_EQ(network.count("conv2d"), 149);
  expect_error([] { Network("inception_v4", {.image_size = 74}); }, "exceeds the padded input");
}

TEST(VisionModels, NasnetHasThePapersGrids) {
  const Network network("nasnet-a", {});
  EXPECT_EQ(network.output_shape("conv0.conv"), (Shape{2, 96, 165, 165}));
  EXPECT_EQ(network.output_shape("cell_stem_1.concat"), (Shape{2, 336, 42, 42}));
  EXPECT_EQ(network.output_shape("cell_5.concat"), (Shape{2, 1008, 42, 42}));
  EXPECT_EQ(network.output_shape("cell_11.concat"), (Shape{2, 2016, 21, 21}));
  EXPECT_EQ(network.output_shape("cell_17.concat"), (Shape{2, 4032, 11, 11}));
  // Depthwise convolutions have as many groups as channels.
  for (const Node& node : network.graph->nodes())
    if (node.name.ends_with("depthwise_conv2d")) {
      EXPECT_EQ(dynamic_cast<const Conv2dOp&>(*node.op).options().groups,
                network.graph->spec(node.outputs[0]).shape[1])
          << node.name;
    }
}

TEST(VisionModels, NasnetStacksItsCellsInThree) {
  const Network network("nasnet-a", {.cells = 25});
  EXPECT_EQ(network.output_shape("cell_7.concat"), (Shape{2, 1008, 42, 42}));
  EXPECT_EQ(network.output_shape("cell_8.concat"), (Shape{2, 2016, 21, 21}));
  EXPECT_EQ(network.output_shape("cell_15.concat"), (Shape{2, 2016, 21, 21}));
  EXPECT_EQ(network.output_shape("cell_16.concat"), (Shape{2, 4032, 11, 11}));
  EXPECT_EQ(network.output_shape("cell_24.concat"), (Shape{2, 4032, 11, 11}));
  EXPECT_FALSE(network.graph->find("cell_25.conv_1x1.conv.weight"));
  expect_error([] { Network("nasnet-a", {.cells = 2}); }, "expected at least 3 cells, got 2");
  expect_error([] { Network("nasnet-a", {.width = 42}); },
               "the width of NASNet-A must be a multiple of 4, got 42");
}

TEST(VisionModels, NasnetDropsLaterBranchesMoreOften) {
  const ModelOptions options{.image_size = 96, .width = 4, .cells = 3, .drop_path = 0.35};
  const Network network("nasnet-a", options);
  std::map<std::string, double> drop;
  for (const Node& node : network.graph->nodes())
    if (const auto* op = dynamic_cast<const DropPathOp*>(node.op.get()))
      drop[node.name.substr(0, node.name.find('.'))] = op->p();
  // Two cells of the stem, three normal ones, two reduction cells.
  const std::vector<std::string> order{"cell_stem_0", "cell_stem_1",      "cell_0", "reduction_cell_0",
                                       "cell_1",      "reduction_cell_1", "cell_2"};
  ASSERT_EQ(drop.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    EXPECT_NEAR(drop.at(order[i]), 0.05 * (static_cast<double>(i) + 1), 1e-15);
  const Network rising("nasnet-a",
                       {.image_size = 96, .width = 4, .cells = 3, .drop_path = 0.35, .drop_path_steps = 200});
  for (const Node& node : rising.graph->nodes())
    if (const auto* op = dynamic_cast<const DropPathOp*>(node.op.get())) {
      const double last = drop.at(node.name.substr(0, node.name.find('.')));
      EXPECT_EQ(op->probability(0), 0);
      EXPECT_NEAR(op->probability(50), last / 4, 1e-15);
      EXPECT_EQ(op->probability(200), last);
      EXPECT_EQ(op->probability(10000), last);
    }
  EXPECT_EQ(rising.count("drop_path"), network.count("drop_path"));
  // Branches, not identities: 8 of a normal cell's, 9 of a reduction's.
  EXPECT_EQ(network.count("drop_path"), 3 * 8 + 4 * 9);
  EXPECT_EQ(Network("nasnet-a", options, {Mode::eval}).count("drop_path"), 0);
  expect_error([] { find_model("nasnet-a", {.drop_path = 1}); },
               "the drop-path probability of nasnet-a must be at least 0 and below 1, got 1");
  expect_error([] { find_model("resnet50", {.drop_path = 0.1}); }, "resnet50 takes no option 'drop-path'");
}

TEST(VisionModels, NasnetsAuxiliaryHeadIsASecondPredictionInTraining) {
  const ModelOptions options{.classes = 10, .cells = 3, .auxiliary_weight = 0.4};
  const Network training("nasnet-a", options);
  ASSERT_EQ(training.predictions.size(), 2U);
  EXPECT_EQ(training.predictions[0].weight, 1);
  EXPECT_EQ(training.predictions[1].weight, 0.4);
  EXPECT_EQ(training.predictions[1].target, "target");
  EXPECT_EQ(training.predictions[1].logits.shape(), (Shape{2, 10}));
  EXPECT_EQ(training.output_shape("aux_head.pool"), (Shape{2, 2016, 6, 6}));
  EXPECT_EQ(training.shape("aux_head.conv.weight"), (Shape{768, 128, 6, 6}));
  EXPECT_EQ(Network("nasnet-a", options, {Mode::eval}).predictions.size(), 1U);
  const std::int64_t with = Network("nasnet-a", {.auxiliary_weight = 0.4}).parameters();
  EXPECT_EQ(with, 88'753'150 + 4'567'784);  // as docs/models.md says
  expect_error([] { find_model("nasnet-a", {.auxiliary_weight = -1}); },
               "the auxiliary weight of nasnet-a must be from 0 to 1e6, got -1");
}

TEST(VisionModels, TakeOnlyTheirOptions) {
  expect_error([] { find_model("vgg16", {.cells = 3}); }, "vgg16 takes no option 'cells'");
  expect_error([] { find_model("inception_v4", {.hidden = 3}); }, "inception_v4 takes no option 'hidden'");
  expect_error([] { find_model("nasnet-a", {.depth = 3}); }, "nasnet-a takes no option 'depth'");
  expect_error([] { find_model("resnet50", {.auxiliary_weight = 0.4}); },
               "resnet50 takes no option 'auxiliary-weight'");
}

}  // namespace
}  // namespace swapadvisor
