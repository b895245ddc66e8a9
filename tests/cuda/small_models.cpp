#include "small_models.h"

#include <swapadvisor/core/rng.h>

#include "interpret.h"

namespace swapadvisor::test {
namespace {

ModelOptions text(std::int64_t layers, std::int64_t hidden) {
  ModelOptions options;
  options.layers = layers;
  options.hidden = hidden;
  options.seq_len = 6;
  options.vocab = 19;
  return options;
}

/// What a cost model would say, roughly: every op takes what its operands take to pass through memory.
std::vector<OpProfile> made_up_profiles(const Graph& graph,
                                        const std::vector<std::unique_ptr<Kernel>>& kernels) {
  std::vector<OpProfile> profiles;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    std::int64_t bytes = 0;
    for (const auto* list : {&graph.nodes()[i].inputs, &graph.nodes()[i].outputs})
      for (const int tensor : *list) bytes += graph.tensors()[static_cast<std::size_t>(tensor)].spec.bytes();
    profiles.push_back({1e-6 + static_cast<double>(bytes) / 4e9, kernels[i]->workspace_bytes()});
  }
  return profiles;
}

}  // namespace

std::vector<SmallModel> small_models() {
  // Large enough that 30 % hold any op with its workspace: that of a product is 64 KiB at least.
  ModelOptions mlp;
  mlp.image_size = 6;
  mlp.channels = 1;
  mlp.classes = 5;
  mlp.hidden = 64;
  mlp.layers = 9;
  mlp.dropout = 0.25;
  ModelOptions resnet20;
  resnet20.image_size = 8;
  resnet20.width = 4;
  ModelOptions resnet18;
  // Batch norm over few values magnifies every rounding; the last stage has 2 x 2 pixels.
  resnet18.image_size = 64;
  resnet18.width = 6;
  resnet18.classes = 10;
  ModelOptions lstm = text(3, 48);
  lstm.cell = "lstm";
  // Wide enough that the table of positions, 512 or 1024 rows whatever the length, is a small part.
  ModelOptions transformer = text(4, 64);
  transformer.heads = 4;
  return {{"mlp", "mlp", mlp, 7},
          {"resnet20", "resnet20", resnet20, 4},
          {"resnet18", "resnet18", resnet18, 6},
          {"lstm", "rnn", lstm, 3},
          {"bert", "bert-base", transformer, 2, "adamw"},
          {"gpt", "gpt2", transformer, 2, "adam"}};
}

SmallTraining::SmallTraining(const SmallModel& small, DType dtype, const KernelSet& kernels)
    : model_(find_model(small.model, small.options)), graph_(std::make_unique<Graph>(small.name)) {
  step_.batch_size = small.batch_size;
  step_.dtype = dtype;
  step_.optimizer.name = small.optimizer;
  build_training_graph(*graph_, model_, step_);
  kernels_ = prepare_kernels(*graph_, kernels, {1, 5});
  plan_graph_ = lower(*graph_, made_up_profiles(*graph_, kernels_));
}

Program SmallTraining::plan(const std::string& planner, int limit_percent) const {
  PlanRequest request;
  request.graph = &plan_graph_;
  request.device = {"small",
                    device_bytes_needed(plan_graph_) * limit_percent / 100,
                    DeviceSpec::unbounded,
                    2e9,
                    2e9,
                    3e9,
                    1e-6,
                    1};
  request.search_evaluations = 200;
  return make_planner(planner)->plan(request);
}

std::vector<std::byte> SmallTraining::values(const ModelInput& input, bool target,
                                             std::int64_t iteration) const {
  const TensorSpec spec = input.spec(step_.batch_size, step_.dtype);
  const RandomStream random{hash_name(input.name, static_cast<std::uint64_t>(iteration))};
  std::vector<double> values(static_cast<std::size_t>(spec.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (spec.dtype != DType::i32)
      values[i] = static_cast<double>(random.below(i, 1u << 20)) / (1 << 19) -
                  1;  // exact in every floating type used
    else if (input.otherwise)
      values[i] = i % 4 == 3 ? 0.0 : 1.0;  // a mask
    else
      values[i] = random.below(i, static_cast<std::uint32_t>(std::max<std::int64_t>(input.below, 2)));
    if (target && spec.dtype == DType::i32 && i % 5 == 4 && spec.rank() > 1) values[i] = -100;
  }
  return from_logical(spec, values);
}

std::vector<std::vector<std::byte>> SmallTraining::inputs(std::int64_t iteration) const {
  std::vector<std::vector<std::byte>> data(graph_->buffers().size());
  const auto set = [&](const std::string& name, std::vector<std::byte> bytes) {
    if (const int id = graph_->find_buffer(name); id >= 0)
      data[static_cast<std::size_t>(id)] = std::move(bytes);
  };
  for (const ModelInput& input : model_.inputs) set(input.name, values(input, false, iteration));
  for (const ModelInput& target : model_.targets) set(target.name, values(target, true, iteration));
  Inputs scalars;
  const StepScalars step(step_.optimizer, iteration, step_.optimizer.default_learning_rate());
  step.add_to(scalars, *graph_);
  for (const auto& [name, value] : scalars) set(name, {value.bytes().begin(), value.bytes().end()});
  return data;
}

}  // namespace swapadvisor::test
