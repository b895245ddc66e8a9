#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/models/layers.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/global_avg_pool.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/train/synthetic.h>
#include <swapadvisor/train/trainer.h>
#include <swapadvisor/train/weights.h>
#include <temporary_folder.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

namespace swapadvisor {
namespace {

Model small_resnet() {
  ModelOptions options;
  options.width = 4;
  options.image_size = 8;
  return find_model("resnet20", options);
}

std::unique_ptr<ImageDataset> small_data(const Model& model, Split split, std::int64_t size = 16) {
  DatasetOptions data;
  data.image_shape = {model.info.channels, model.info.image_size, model.info.image_size};
  data.classes = static_cast<int>(model.info.classes);
  data.size = size;
  return make_synthetic(split, data);
}

TrainerOptions small_run(const Dataset& data, std::int64_t steps) {
  TrainerOptions options;
  options.step.batch_size = options.loader.batch_size = 4;
  options.step.mean = data.mean();
  options.step.deviation = data.deviation();
  options.session.profile_repeats = 1;
  options.steps = steps;
  return options;
}

std::vector<std::byte> bits(HostStore& host, const std::string& name) {
  const auto data = host.find(name);
  return {data.begin(), data.end()};
}

std::int64_t count_ops(const Graph& graph, std::string_view type, std::string_view prefix) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    return (type.empty() || node.op->type() == type) && node.name.starts_with(prefix);
  });
}

TEST(Freeze, PathsAreScopes) {
  EXPECT_TRUE(in_scope("layer1.0.conv1.weight", "layer1"));
  EXPECT_TRUE(in_scope("layer1.0.conv1.weight", "layer1.0.conv1.weight"));
  EXPECT_TRUE(in_scope("anything", ""));
  EXPECT_FALSE(in_scope("layer10.weight", "layer1"));
  EXPECT_FALSE(in_scope("layer1", "layer1.0"));
  EXPECT_FALSE(in_scope("other.layer1", "layer1"));

  Graph graph("g");
  const Scope scope(graph, {});
  for (const char* name : {"layer1", "layer10", "fc"})
    (scope / name).parameter("weight", {2}, Initializer::zeros());
  graph.freeze("layer1");
  std::vector<std::string> trainable;
  for (const Tensor& p : graph.trainable_parameters()) trainable.push_back(p.name());
  EXPECT_EQ(trainable, (std::vector<std::string>{"layer10.weight", "fc.weight"}));
  EXPECT_EQ(graph.parameters().size(), 3u);
  expect_error([&] { graph.freeze("layer2"); }, "graph 'g' has no parameter 'layer2' to freeze");
}

TEST(Freeze, NothingIsComputedBelowTheFirstTrainableLayer) {
  StepOptions options;
  options.batch_size = 4;
  Graph whole("whole"), frozen("frozen");
  build_training_graph(whole, small_resnet(), options);
  options.frozen = {"conv1", "bn1", "layer1"};
  build_training_graph(frozen, small_resnet(), options);
  for (const char* place : {"conv1", "bn1", "layer1."}) {
    SCOPED_TRACE(place);
    for (const char* prefix : {"grad/", "sgd/", "grad/sum/"}) {
      EXPECT_EQ(count_ops(frozen, "", std::string(prefix) + place), 0) << prefix;
    }
    EXPECT_GT(count_ops(whole, "", std::string("grad/") + place), 0);
    EXPECT_GT(count_ops(whole, "", std::string("sgd/") + place), 0);
  }
  std::size_t momenta = 0;
  for (const Buffer& buffer : frozen.buffers()) momenta += buffer.name.starts_with(names::momentum_prefix);
  EXPECT_EQ(momenta, frozen.trainable_parameters().size());
  EXPECT_LT(momenta, frozen.parameters().size());
  EXPECT_LT(frozen.find_buffer("optimizer/momentum/layer1.0.conv1.weight"), 0);
  EXPECT_GE(frozen.find_buffer("optimizer/momentum/layer2.0.conv1.weight"), 0);
}

TEST(Freeze, InTheMiddleGradientsPassButWeightGradientsAreNotMade) {
  StepOptions options;
  options.batch_size = 4;
  options.frozen = {"layer2"};
  Graph graph("frozen");
  build_training_graph(graph, small_resnet(), options);
  EXPECT_EQ(count_ops(graph, "conv2d_backward_weight", "grad/layer2"), 0);
  EXPECT_GT(count_ops(graph, "conv2d_backward_data", "grad/layer2"), 0);
  EXPECT_GT(count_ops(graph, "conv2d_backward_weight", "grad/layer1"), 0);
  EXPECT_EQ(count_ops(graph, "", "sgd/layer2"), 0);
}

TEST(Freeze, FrozenParametersKeepTheirBitsUnderALimitToo) {
  const Model model = small_resnet();
  const auto data = small_data(model, Split::train);
  std::vector<std::string> hashes;
  for (const auto& limit : {std::optional<SizeLimit>(), std::optional(parse_size_limit("50%"))}) {
    Runtime runtime({.device = {.threads = 1}});
    TrainerOptions options = small_run(*data, 5);
    options.step.frozen = {"conv1", "layer2", "fc.bias"};
    options.session.memory_limit = limit;
    Trainer trainer(model, *data, nullptr, runtime, options);
    std::map<std::string, std::vector<std::byte>> before;
    for (const Buffer& buffer : trainer.graph().buffers())
      if (buffer.kind == BufferKind::parameter) before[buffer.name] = bits(runtime.host(), buffer.name);
    hashes.push_back(trainer.run().parameters_hash);
    for (const Buffer& buffer : trainer.graph().buffers()) {
      if (buffer.kind != BufferKind::parameter) continue;
      EXPECT_EQ(before[buffer.name] == bits(runtime.host(), buffer.name), buffer.frozen) << buffer.name;
    }
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(Freeze, TheOthersAreUpdatedAsIfNothingWereFrozen) {
  const Model model = small_resnet();
  const auto data = small_data(model, Split::train);
  Runtime a({.device = {.threads = 1}}), b({.device = {.threads = 1}});
  TrainerOptions options = small_run(*data, 1);
  Trainer whole(model, *data, nullptr, a, options);
  whole.run();
  options.step.frozen = {"conv1", "layer1"};
  Trainer part(model, *data, nullptr, b, options);
  part.run();
  for (const char* name : {"layer2.0.conv1.weight", "layer3.2.bn2.bias", "fc.weight", "bn1.weight"})
    EXPECT_EQ(bits(a.host(), name), bits(b.host(), name)) << name;
  EXPECT_NE(bits(a.host(), "conv1.weight"), bits(b.host(), "conv1.weight"));
}

TEST(Freeze, LayersInEvaluationModeKeepTheirStatistics) {
  const ModelInfo info = small_resnet().info;
  const auto data = small_data(small_resnet(), Split::train);
  const auto classes = info.classes;
  for (const Mode mode : {Mode::eval, Mode::train}) {
    const Model model = image_classifier(info, [=](const Scope& scope, Tensor images) {
      const Scope backbone = scope.in_mode(mode) / "backbone";
      const Tensor x = relu(batch_norm(backbone / "bn", conv2d(backbone / "conv", images, 4, 3)));
      return linear(scope / "fc", flatten(global_avg_pool(x)), classes);
    });
    Runtime runtime({.device = {.threads = 1}});
    TrainerOptions options = small_run(*data, 3);
    options.step.frozen = {"backbone"};
    Trainer trainer(model, *data, nullptr, runtime, options);
    const auto before = bits(runtime.host(), "backbone.bn.running_mean");
    trainer.run();
    EXPECT_EQ(before == bits(runtime.host(), "backbone.bn.running_mean"), mode == Mode::eval);
    EXPECT_EQ(count_ops(trainer.graph(), "", "grad/backbone"), 0);
  }
}

TEST(Freeze, NothingToTrainIsAnError) {
  StepOptions options;
  options.frozen = {""};
  options.batch_size = 4;
  Graph graph("g");
  expect_error([&] { build_training_graph(graph, small_resnet(), options); },
               "graph 'g' has no parameter to train");
}

TEST(Inference, LogitsAgreeWithTheEvaluation) {
  const Model model = small_resnet();
  const auto train = small_data(model, Split::train), test = small_data(model, Split::test, 8);
  Runtime runtime({.device = {.threads = 1}});
  TrainerOptions options = small_run(*train, 4);
  Trainer trainer(model, *train, test.get(), runtime, options);
  const Evaluation expected = *trainer.run().test;

  StepOptions step = options.step;
  step.batch_size = 8;
  Graph graph("inference");
  build_inference_graph(graph, model, step);
  Session session(graph, runtime, {.profile_repeats = 1});
  std::vector<std::uint8_t> images(static_cast<std::size_t>(8 * test->image_bytes()));
  for (std::int64_t i = 0; i < 8; ++i)
    test->image(i, std::span(images).subspan(static_cast<std::size_t>(i * test->image_bytes()),
                                             static_cast<std::size_t>(test->image_bytes())));
  session.step({{names::input, images}});
  const std::vector<float> logits = session.read<float>(names::logits);
  const auto classes = static_cast<std::size_t>(model.info.classes);
  double loss = 0;
  int correct = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const auto row = std::span(logits).subspan(i * classes, classes);
    const auto label = static_cast<std::size_t>(test->label(static_cast<std::int64_t>(i)));
    double sum = 0;
    for (float v : row) sum += std::exp(double{v} - double{row[label]});
    loss += std::log(sum) / 8;
    correct += static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()) == label;
  }
  EXPECT_NEAR(loss, expected.loss, 1e-5);
  EXPECT_EQ(correct, std::lround(expected.accuracy * 8));

  // The session had its turn; the trainer goes on undisturbed.
  EXPECT_EQ(trainer.evaluate().loss, expected.loss);
}

TEST(Inference, WhileTraining) {
  const Model model = small_resnet();
  const auto data = small_data(model, Split::train), test = small_data(model, Split::test);
  Runtime alone({.device = {.threads = 1}}), shared({.device = {.threads = 1}});
  TrainerOptions options = small_run(*data, 6);
  options.session.memory_limit = parse_size_limit("60%");
  Trainer reference(model, *data, test.get(), alone, options);
  const TrainReport expected = reference.run();

  Graph graph("inference");
  build_inference_graph(graph, model, options.step);
  std::unique_ptr<Session> predictor;
  std::vector<std::uint8_t> images(static_cast<std::size_t>(4 * data->image_bytes()), 128);
  std::vector<float> first, last;
  options.on_step = [&](const StepMetrics& m) {
    predictor->step({{names::input, images}});
    last = predictor->read<float>(names::logits);
    if (m.step == 0) first = last;
  };
  options.on_epoch = [&](std::int64_t, const Evaluation&) { predictor->step({{names::input, images}}); };
  Trainer trainer(model, *data, test.get(), shared, options);
  predictor = std::make_unique<Session>(graph, shared, SessionOptions{.profile_repeats = 1});
  EXPECT_EQ(trainer.run().parameters_hash, expected.parameters_hash);
  EXPECT_NE(first, last);
}

TEST(Stop, FromAnotherThreadLeavesTheWeightsOfWholeSteps) {
  const Model model = small_resnet();
  const auto data = small_data(model, Split::train);
  const TemporaryFolder folder;
  std::int64_t steps = 0;
  std::string stopped;
  {
    Runtime runtime({.device = {.threads = 1}});
    std::stop_source source;
    std::atomic<bool> under_way = false;
    std::jthread other([&] {
      under_way.wait(false);
      source.request_stop();
    });
    TrainerOptions options = small_run(*data, 1'000'000);
    options.session.memory_limit = parse_size_limit("60%");
    options.stop = source.get_token();
    options.on_step = [&](const StepMetrics& m) {
      if (m.step == 2) {
        under_way = true;
        under_way.notify_all();
      }
    };
    Trainer trainer(model, *data, nullptr, runtime, options);
    const TrainReport report = trainer.run();
    steps = report.steps;
    stopped = report.parameters_hash;
    EXPECT_GE(steps, 3);
    EXPECT_LT(steps, 1'000'000);
    save_weights(folder.path("stopped.safetensors"), trainer.graph(), runtime.host());
  }
  Runtime runtime({.device = {.threads = 1}});
  Trainer trainer(model, *data, nullptr, runtime, small_run(*data, steps));
  EXPECT_EQ(trainer.run().parameters_hash, stopped);
  const auto kept = bits(runtime.host(), "layer3.0.conv1.weight");
  trainer.session().write("layer3.0.conv1.weight", std::vector<std::byte>(kept.size()));
  load_weights(folder.path("stopped.safetensors"), trainer.graph(), runtime.host());
  EXPECT_EQ(bits(runtime.host(), "layer3.0.conv1.weight"), kept);
}

}  // namespace
}  // namespace swapadvisor
