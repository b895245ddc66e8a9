// What could break under a limit, each trained under the tightest one (what its largest op takes) with
// recompute: dropout, statistics of batch norm, tied weights, gradient accumulation, updates in place, an
// uneven last batch, tensors of one element, a frozen layer.
#include <gtest/gtest.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/trainer.h>

#include <algorithm>
#include <string>

#include "small_training.h"

namespace swapadvisor {
namespace {

struct Scenario {
  std::string name;
  std::string model;
  std::int64_t micro_batches = 1;
  std::string optimizer = "sgd";
  std::vector<std::string> frozen{};
};

ModelOptions small_text() {
  ModelOptions options;
  options.hidden = 16;
  options.layers = 2;
  options.seq_len = 8;
  options.dropout = 0.1;
  return options;
}

/// Models of text with made-up sequences, images as elsewhere; "mlp1" has hidden layers of one element.
Model model_of(const std::string& name) {
  if (name == "resnet20" || name == "mlp") return small_model(name);
  if (name == "mlp1") {
    ModelOptions options;
    options.image_size = 8;
    options.hidden = 1;
    options.layers = 3;
    return find_model("mlp", options);
  }
  ModelOptions options = small_text();
  options.vocab = 32;
  if (name != "rnn") options.heads = 2;
  return find_model(name, options);
}

std::unique_ptr<Dataset> data_of(const Model& model) {
  if (model.info.takes_images()) return small_data(model, Split::train, 26);  // 8 a step: 8 + 8 + 8 + 2
  TaskOptions task;
  task.model = model.info.name;
  task.model_options = small_text();
  task.model_options.vocab = 32;
  if (model.info.name != "rnn") task.model_options.heads = 2;
  return task.open(Split::train, 1);
}

struct Outcome {
  std::string bits;
  Program program;
};

Outcome train(const Scenario& scenario, const std::string& planner, std::int64_t limit) {
  const Model model = model_of(scenario.model);
  const auto data = data_of(model);
  TrainerOptions options = small_run(*data, 8 / scenario.micro_batches, 5, scenario.micro_batches);
  options.step.optimizer.name = scenario.optimizer;
  options.step.frozen = scenario.frozen;
  options.session.planner = planner;
  options.session.search_evaluations = 60;
  if (limit > 0) options.session.memory_limit = SizeLimit{limit};
  Runtime runtime({.device = {.threads = 1}});
  Trainer trainer(model, *data, nullptr, runtime, options);
  const TrainReport report = trainer.run();
  return {fmt::format("{} {:a}", report.parameters_hash, report.final_loss), trainer.session().program()};
}

std::int64_t largest_op_bytes(const PlanGraph& graph) {
  std::int64_t most = 0;
  for (const PlanOp& op : graph.ops) {
    std::vector<std::int32_t> buffers = op.inputs;
    buffers.insert(buffers.end(), op.outputs.begin(), op.outputs.end());
    std::sort(buffers.begin(), buffers.end());
    buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
    std::int64_t bytes = round_up(op.workspace_bytes, arena_alignment);
    for (std::int32_t b : buffers)
      bytes += round_up(graph.buffers[static_cast<std::size_t>(b)].bytes, arena_alignment);
    most = std::max(most, bytes);
  }
  return most;
}

std::size_t runs(const Program& program) {
  return static_cast<std::size_t>(
      std::count_if(program.instructions.begin(), program.instructions.end(),
                    [](const Instruction& i) { return i.kind == InstructionKind::run; }));
}

class TightestLimit : public testing::TestWithParam<Scenario> {};

TEST_P(TightestLimit, ChangesNoBit) {
  const Outcome free = train(GetParam(), "none", 0);
  const std::int64_t tightest = largest_op_bytes(free.program.graph);
  ASSERT_LT(tightest, free.program.arena_bytes);
  std::size_t again = 0;
  for (const char* planner : {"joint", "checkpoint", "superneurons"}) {
    SCOPED_TRACE(fmt::format("{} in {} bytes", planner, tightest));
    const Outcome limited = train(GetParam(), planner, tightest);
    EXPECT_EQ(limited.bits, free.bits);
    EXPECT_LE(limited.program.arena_bytes, tightest);
    again += runs(limited.program) - limited.program.graph.ops.size();
  }
  EXPECT_GT(again, 0u) << "nothing was made again: the scenario shows nothing about recompute";
}

INSTANTIATE_TEST_SUITE_P(Scenarios, TightestLimit,
                         testing::Values(Scenario{"Dropout", "mlp"},
                                         Scenario{"BatchNormStatistics", "resnet20"},
                                         Scenario{"TiedWeightsAndDropout", "gpt2", 1, "adamw"},
                                         Scenario{"BertAccumulates", "bert-base", 2, "lamb"},
                                         Scenario{"Gpt2Accumulates", "gpt2", 2, "adam"},
                                         Scenario{"LstmAccumulates", "rnn", 2, "adam"},
                                         Scenario{"UpdatesInPlaceAndUnevenLastBatch", "resnet20", 2, "adam"},
                                         Scenario{"TensorsOfOneElement", "mlp1", 1, "adam"},
                                         Scenario{"FrozenLayer", "resnet20", 1, "sgd", {"layer2"}}),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace swapadvisor
