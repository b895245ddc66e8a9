// Models with several inputs, targets and losses: what training, evaluation and inference graphs make of
// them.
#include <expect_error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/models/layers.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/train/synthetic.h>
#include <swapadvisor/train/trainer.h>

#include <cmath>
#include <cstring>
#include <numeric>

namespace swapadvisor {
namespace {

constexpr std::int64_t features = 6, kinds = 5, length = 3, tokens = 4;

/// Predicts a kind from `a`, and a token at each of three places from `b`, at half the weight.
Model two_heads(double weight = 0.5) {
  Model model;
  model.info = {.name = "two-heads", .task = Task::masked_language_modelling};
  model.inputs = {{.name = "a", .shape = {features}}, {.name = "b", .shape = {2, features}}};
  model.targets = {{.name = "kind", .shape = {}, .dtype = DType::i32, .below = kinds},
                   {.name = "tokens", .shape = {length}, .dtype = DType::i32, .below = tokens}};
  model.predict = [=](const Scope& scope, const ModelTensors& in) {
    const Tensor a = linear(scope / "kinds", in.at("a"), kinds);
    const std::int64_t samples = a.shape()[0];
    Graph& graph = scope.graph();
    const Tensor b =
        linear(scope / "places", graph.reshape(in.at("b"), {samples, 2 * features}), length * tokens);
    return std::vector<ModelPrediction>{
        {.logits = a, .target = "kind"},
        {.logits = graph.reshape(b, {samples * length, tokens}), .target = "tokens", .weight = weight}};
  };
  return model;
}

/// Floating-point inputs; each sample has another number of tokens that count, the first one none.
class TwoFields : public Dataset {
 public:
  explicit TwoFields(std::int64_t size) : size_(size) {
    fields_ = {{"kind", DType::i32, {}, ignored_label},
               {"b", DType::f32, {2, features}},
               {"unused", DType::u8, {7}},
               {"a", DType::f32, {features}},
               {"tokens", DType::i32, {length}, ignored_label}};
  }
  std::int64_t size() const override { return size_; }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::int64_t index, const SampleDraw&, std::span<const std::span<std::byte>> out) const override {
    const RandomStream random{5, static_cast<std::uint32_t>(index)};
    const auto put = [&](std::size_t field, std::int64_t i, auto value) {
      std::memcpy(&out[field][static_cast<std::size_t>(i) * sizeof value], &value, sizeof value);
    };
    put(0, 0, static_cast<std::int32_t>(index % kinds));
    for (std::int64_t i = 0; i < 2 * features; ++i)
      put(1, i, static_cast<float>(random.normal(static_cast<std::uint64_t>(i))));
    for (std::int64_t i = 0; i < features; ++i)
      put(3, i, static_cast<float>(random.normal(static_cast<std::uint64_t>(100 + i))));
    for (std::int64_t i = 0; i < length; ++i)
      put(4, i, i < index % (length + 1) ? static_cast<std::int32_t>((index + i) % tokens) : ignored_label);
  }

 private:
  std::int64_t size_;
  std::vector<Field> fields_;
};

/// −log softmax(row · weight + bias)[label] and whether the label has the largest logit.
std::pair<double, bool> cross_entropy(std::span<const float> x, const std::vector<float>& weight,
                                      const std::vector<float>& bias, std::size_t begin, std::size_t classes,
                                      std::int32_t label) {
  std::vector<double> logits(classes);
  for (std::size_t c = 0; c < classes; ++c) {
    logits[c] = bias[begin + c];
    for (std::size_t i = 0; i < x.size(); ++i)
      logits[c] += double{x[i]} * double{weight[(begin + c) * x.size() + i]};
  }
  double sum = 0;
  for (double v : logits) sum += std::exp(v - logits[static_cast<std::size_t>(label)]);
  const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
  return {std::log(sum), best == label};
}

TrainerOptions small_run(std::int64_t batch_size, std::int64_t steps) {
  TrainerOptions options;
  options.step.batch_size = options.loader.batch_size = batch_size;
  options.step.optimizer = {.momentum = 0};
  options.session.profile_repeats = 1;
  options.loader.last_batch = LastBatch::pad;
  options.loader.shuffle = false;
  options.steps = steps;
  options.learning_rate = [](std::int64_t) { return 0.3; };
  return options;
}

TEST(Task, EvaluationCountsEveryLabelOnce) {
  const TwoFields data(23);
  Runtime runtime({.device = {.threads = 1}});
  Trainer trainer(two_heads(), data, &data, runtime, small_run(4, 5));
  const Evaluation e = *trainer.run().test;

  const auto wa = trainer.session().read<float>("kinds.weight"),
             ba = trainer.session().read<float>("kinds.bias");
  const auto wb = trainer.session().read<float>("places.weight"),
             bb = trainer.session().read<float>("places.bias");
  Batch all;
  LoaderOptions whole;
  whole.batch_size = data.size();
  whole.shuffle = false;
  BatchAssembler(data, whole).assemble(0, all);
  double kind = 0, token = 0;
  std::int64_t correct = 0, count = 0;
  for (std::size_t n = 0; n < 23; ++n) {
    const auto [loss, right] = cross_entropy(all.values<float>("a").subspan(n * features, features), wa, ba,
                                             0, kinds, all.values<std::int32_t>("kind")[n]);
    kind += loss;
    correct += right;
    for (std::size_t t = 0; t < length; ++t) {
      const std::int32_t label = all.values<std::int32_t>("tokens")[n * length + t];
      if (label == ignored_label) continue;
      token += cross_entropy(all.values<float>("b").subspan(n * 2 * features, 2 * features), wb, bb,
                             t * tokens, tokens, label)
                   .first;
      ++count;
    }
  }
  EXPECT_EQ(e.samples, 23);
  EXPECT_EQ(e.rows, 23);
  EXPECT_EQ(count, 33);
  EXPECT_NEAR(e.losses.at("kind"), kind / 23, 1e-5);
  EXPECT_NEAR(e.losses.at("tokens"), token / 33, 1e-5);
  EXPECT_NEAR(e.loss, kind / 23 + 0.5 * token / 33, 1e-5);
  EXPECT_DOUBLE_EQ(e.accuracy, static_cast<double>(correct) / 23);
  EXPECT_THAT(describe(e), testing::HasSubstr("tokens 1."));
}

TEST(Task, TrainingLearnsEveryTargetAndReportsTheWeightedSum) {
  const TwoFields data(4);
  Runtime runtime({.device = {.threads = 1}});
  TrainerOptions options = small_run(4, 200);
  std::vector<double> losses;
  options.on_step = [&](const StepMetrics& m) {
    losses.push_back(m.loss);
    EXPECT_EQ(m.rows, 4);
    EXPECT_EQ(m.samples, 4);
  };
  Trainer trainer(two_heads(), data, &data, runtime, options);
  const Evaluation before = trainer.evaluate();
  const Evaluation after = *trainer.run().test;
  EXPECT_NEAR(losses.front(), before.losses.at("kind") + 0.5 * before.losses.at("tokens"), 1e-5);
  for (const char* target : {"kind", "tokens"})
    EXPECT_LT(after.losses.at(target), 0.3 * before.losses.at(target));
  EXPECT_EQ(after.accuracy, 1);
}

TEST(Task, AWeightOfZeroTrainsNothing) {
  const TwoFields data(4);
  Runtime runtime({.device = {.threads = 1}});
  Trainer trainer(two_heads(0), data, nullptr, runtime, small_run(4, 3));
  const auto before = trainer.session().read<float>("places.weight");
  trainer.run();
  EXPECT_EQ(trainer.session().read<float>("places.weight"), before);
}

TEST(Task, AccuracyOfTokensCountsTheLabelsThatAreNotIgnored) {
  Model model = two_heads();
  const auto heads = model.predict;
  model.predict = [=](const Scope& scope, const ModelTensors& in) {
    return std::vector<ModelPrediction>{heads(scope, in)[1]};
  };
  const TwoFields data(8);
  Runtime runtime({.device = {.threads = 1}});
  TrainerOptions options = small_run(4, 400);
  options.on_step = [&](const StepMetrics& m) { EXPECT_EQ(m.rows, 6); };  // 0 + 1 + 2 + 3
  Trainer trainer(model, data, &data, runtime, options);
  const Evaluation e = *trainer.run().test;
  EXPECT_EQ(e.rows, 12);
  EXPECT_EQ(e.samples, 8);
  EXPECT_EQ(e.accuracy, 1);
  EXPECT_TRUE(e.losses.empty());
}

TEST(Task, HeadsMayShareATarget) {
  Model model = two_heads();
  const auto heads = model.predict;
  model.predict = [=](const Scope& scope, const ModelTensors& in) {
    auto predictions = heads(scope, in);
    if (scope.training()) predictions.push_back({.logits = predictions[0].logits, .target = "kind", .weight = 0.3});
    return predictions;
  };
  const TwoFields data(4);
  Runtime runtime({.device = {.threads = 1}});
  TrainerOptions options = small_run(4, 1);
  double loss = 0;
  options.on_step = [&](const StepMetrics& m) { loss = m.loss; };
  Trainer trainer(model, data, &data, runtime, options);
  const Evaluation before = trainer.evaluate();
  trainer.run();
  EXPECT_NEAR(loss, 1.3 * before.losses.at("kind") + 0.5 * before.losses.at("tokens"), 1e-5);
}

TEST(Task, ALimitChangesNoBit) {
  const TwoFields data(12);
  std::vector<std::string> hashes;
  for (const char* limit : {"100%", "60%"}) {
    Runtime runtime({.device = {.threads = 1}});
    TrainerOptions options = small_run(4, 6);
    options.session.memory_limit = parse_size_limit(limit);
    options.session.planner = "belady";
    Trainer trainer(two_heads(), data, nullptr, runtime, options);
    hashes.push_back(trainer.run().parameters_hash);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(Task, InferenceNeedsNoTargets) {
  Graph graph("inference");
  StepOptions options;
  options.batch_size = 2;
  build_inference_graph(graph, two_heads(), options);
  EXPECT_EQ(graph.find_buffer("kind"), -1);
  EXPECT_EQ(graph.find("logits").shape(), (Shape{2, kinds}));
}

TEST(Task, DataThatDoNotFitAreRefused) {
  const TwoFields data(8);
  Runtime runtime({.device = {.threads = 1}});
  Model model = two_heads();
  model.inputs.push_back({.name = "c", .shape = {1}});
  expect_error([&] { Trainer(model, data, nullptr, runtime, small_run(4, 1)); },
               "'two-heads' takes 'c', which the data do not have");
  model = two_heads();
  model.targets[1].shape = {length + 1};
  const auto heads = model.predict;
  model.predict = [=](const Scope& scope, const ModelTensors& in) {
    return std::vector<ModelPrediction>{heads(scope, in)[0]};
  };
  expect_error([&] { Trainer(model, data, nullptr, runtime, small_run(4, 1)); },
               "'two-heads' takes 'tokens' as i32[4, 4], but the data have i32[3] in each of 4 samples");
  model.predict = [=](const Scope& scope, const ModelTensors& in) {
    auto predictions = heads(scope, in);
    predictions[0].target = "sort";
    return predictions;
  };
  expect_error([&] { Trainer(model, data, nullptr, runtime, small_run(4, 1)); },
               "model 'two-heads' has no target 'sort'");
}

DatasetOptions text_options(Task task, const std::string& target) {
  DatasetOptions options;
  options.task = task;
  options.size = 40;
  options.inputs = {{.name = "ids", .shape = {50}, .dtype = DType::i32, .below = 30},
                    {.name = "mask", .shape = {50}, .dtype = DType::i32, .below = 2, .otherwise = 1}};
  options.targets = {{.name = target, .shape = {50}, .dtype = DType::i32, .below = 30},
                     {.name = "kind", .shape = {}, .dtype = DType::i32, .below = 2}};
  return options;
}

Batch one_batch(const Dataset& data) {
  LoaderOptions options;
  options.batch_size = data.size();
  options.shuffle = false;
  Batch batch;
  BatchAssembler(data, options).assemble(0, batch);
  return batch;
}

TEST(SyntheticText, TargetsBelongToTheSequence) {
  const Batch next =
      one_batch(*make_synthetic_text(Split::train, text_options(Task::language_modelling, "next")));
  const Batch same =
      one_batch(*make_synthetic_text(Split::train, text_options(Task::language_modelling, "labels")));
  const Batch hidden =
      one_batch(*make_synthetic_text(Split::train, text_options(Task::masked_language_modelling, "labels")));
  const auto ids = next.values<std::int32_t>("ids");
  ASSERT_EQ(ids.size(), 2000u);
  EXPECT_THAT(ids, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(30))));
  EXPECT_THAT(next.values<std::int32_t>("mask"), testing::Each(1));
  EXPECT_TRUE(std::ranges::equal(same.values<std::int32_t>("labels"), ids));
  int rule = 0, masked = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::int32_t follower = next.values<std::int32_t>("next")[i];
    if (i % 50 != 49) {
      EXPECT_EQ(follower, ids[i + 1]);
    }
    rule += follower == (ids[i] * 5 + 7 + 11 * next.values<std::int32_t>("kind")[i / 50]) % 30;
    const std::int32_t label = hidden.values<std::int32_t>("labels")[i];
    masked += label != ignored_label;
    EXPECT_EQ(hidden.values<std::int32_t>("ids")[i], label == ignored_label ? ids[i] : 0);
    if (label != ignored_label) {
      EXPECT_EQ(label, ids[i]);
    }
  }
  EXPECT_NEAR(rule, 1758, 60);
  EXPECT_NEAR(masked, 300, 60);
  const Batch test =
      one_batch(*make_synthetic_text(Split::test, text_options(Task::language_modelling, "next")));
  EXPECT_FALSE(std::ranges::equal(test.values<std::int32_t>("ids"), ids));
}

TEST(SyntheticText, ImagesAreNotText) {
  expect_error(
      [] { open_dataset("mnist", "", Split::train, text_options(Task::language_modelling, "next")); },
      "the mnist data are images, which is not what language modelling needs");
}

}  // namespace
}  // namespace swapadvisor
