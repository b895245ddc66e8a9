// Training with room for the largest op alone, values being made again where the planner likes: every kind of
// step that a plan could get wrong ends with the bits of a run without a limit.
#include <gtest/gtest.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/models/layers.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/sigmoid.h>
#include <swapadvisor/swap/device_spec.h>

#include <algorithm>
#include <functional>

#include "random_plan_graph.h"
#include "small_training.h"

namespace swapadvisor {
namespace {

std::unique_ptr<Dataset> data_of(const Model& model, Split split, std::int64_t size) {
  DatasetOptions options = dataset_options(model);
  options.size = size;
  if (model.info.takes_images()) return make_synthetic(split, options);
  return make_synthetic_text(split, options);
}

TrainerOptions base_options(const Dataset& data, std::int64_t batch_size, std::int64_t micro_batches) {
  TrainerOptions options = small_run(data, batch_size, 5, micro_batches);
  options.session.device_spec = find_device("v100-16g");
  // Copies cost more than any run: what may be made again is.
  options.session.device_spec->copy_latency_seconds = 0.01;
  options.session.search_evaluations = 20;
  return options;
}

std::string outcome(const TrainReport& report) {
  return fmt::format("{} {:a} {:a}", report.parameters_hash, report.final_loss, report.test->loss);
}

using Change = std::function<void(TrainerOptions&)>;

/// Three batches an epoch, of which the last has fewer samples than the others; five steps.
void expect_the_same_bits(const Model& model, const Change& change, std::int64_t batch_size = 4,
                          std::int64_t micro_batches = 1) {
  SCOPED_TRACE(model.info.name);
  const std::int64_t samples = batch_size * micro_batches;
  const auto data = data_of(model, Split::train, 2 * samples + std::max<std::int64_t>(1, samples / 2)),
             test = data_of(model, Split::test, batch_size + 1);
  TrainerOptions options = base_options(*data, batch_size, micro_batches);
  change(options);
  std::vector<std::int64_t> valid;
  options.on_step = [&](const StepMetrics& m) { valid.push_back(m.samples); };

  Runtime free_runtime({.device = {.threads = 1}});
  Trainer unlimited(model, *data, test.get(), free_runtime, options);
  const std::string expected = outcome(unlimited.run());
  ASSERT_EQ(valid.size(), 5u);
  EXPECT_LT(valid[2], samples);

  const auto largest = [](Session& session) {
    return largest_op_bytes(lower(session.graph(), session.op_profiles()));
  };
  const std::int64_t least = largest(unlimited.session());
  ASSERT_LT(least, unlimited.session().bytes_needed());
  double recomputed = 0;
  for (const char* planner : {"joint", "checkpoint", "belady"}) {
    SCOPED_TRACE(planner);
    Runtime runtime({.device = {.threads = 1}});
    options.session.memory_limit = SizeLimit{least};
    options.session.planner = planner;
    Trainer trainer(model, *data, test.get(), runtime, options);
    EXPECT_EQ(trainer.session().program().planner, planner);
    EXPECT_LE(trainer.session().program().arena_bytes, least);
    recomputed += trainer.session().program().predicted.recompute_seconds;
    EXPECT_EQ(outcome(trainer.run()), expected);
  }
  EXPECT_GT(recomputed, 0) << "no planner recomputed anything";
}

Model small_text(const char* name, double dropout, std::int64_t hidden = 16) {
  ModelOptions options;
  options.hidden = hidden;
  options.layers = 3;
  options.heads = 2;
  options.dropout = dropout;
  options.seq_len = 12;
  options.vocab = 31;
  return find_model(name, options);
}

void adam(TrainerOptions& options) {
  options.step.optimizer = {.name = "adam"};
}

TEST(TightestLimit, Dropout) {
  expect_the_same_bits(small_model("mlp"), adam, 12);
}

TEST(TightestLimit, BatchNormStatistics) {
  expect_the_same_bits(small_model("resnet20"),
                       [](TrainerOptions& options) { options.step.optimizer.momentum = 0.9; });
}

TEST(TightestLimit, FrozenLayers) {
  expect_the_same_bits(small_model("resnet20"), [](TrainerOptions& options) {
    options.step.frozen = {"conv1", "layer2.1", "fc.bias"};
  });
}

TEST(TightestLimit, TiedWeights) {
  expect_the_same_bits(small_text("gpt2", 0.1), adam);
  expect_the_same_bits(small_text("bert-base", 0.1), adam);
}

TEST(TightestLimit, AccumulatedGradients) {
  expect_the_same_bits(small_model("resnet20"), adam, 4, 3);
  expect_the_same_bits(small_text("gpt2", 0.1), adam, 4, 2);
  expect_the_same_bits(small_text("bert-base", 0.1), adam, 4, 2);
}

TEST(TightestLimit, UpdatesAllAtOnceWithAveragesAndClipping) {
  expect_the_same_bits(small_text("gpt2", 0), [](TrainerOptions& options) {
    options.step.optimizer = {.name = "lamb", .clip_norm = 0.5, .ema_decay = 0.7};
  });
}

/// Ops that may write over what they read, where others still need it, and a gate of one element: a
/// parameter, its gradient and its moments are tensors of one element, as are those of the bias behind it.
Model gated() {
  ModelInfo info{.name = "gated", .channels = 1, .image_size = 8, .classes = 3};
  return image_classifier(info, [](const Scope& scope, Tensor images) {
    Tensor x = linear(scope / "in", flatten(images), 24);
    for (int i = 0; i < 4; ++i) {
      const Tensor active = relu(x, scope.name(fmt::format("relu{}", i)));
      const Tensor narrow = linear(scope / fmt::format("narrow{}", i), active, 1);  // [N, 1]
      const Tensor gate = sigmoid(narrow, scope.name(fmt::format("gate{}", i)));
      const Tensor wide = linear(scope / fmt::format("wide{}", i), gate, 24);
      x = add(add(x, active, scope.name(fmt::format("twice{}", i))), wide,
              scope.name(fmt::format("sum{}", i)));
    }
    return linear(scope / "out", x, 3);
  });
}

TEST(TightestLimit, InPlaceOpsAndTensorsOfOneElement) {
  expect_the_same_bits(gated(), adam, 48);
  expect_the_same_bits(
      gated(), [](TrainerOptions& options) { options.step.optimizer = {.name = "sgd", .momentum = 0.9}; }, 48);
}

TEST(TightestLimit, DroppedPathsAndTwoLosses) {
  const Model model = find_model("nasnet-a", {.image_size = 96,
                                              .classes = 3,
                                              .width = 4,
                                              .dropout = 0.2,
                                              .cells = 3,
                                              .drop_path = 0.3,
                                              .auxiliary_weight = 0.4});
  expect_the_same_bits(
      model, [](TrainerOptions& options) { options.steps = 5; }, 2);
}

}  // namespace
}  // namespace swapadvisor
