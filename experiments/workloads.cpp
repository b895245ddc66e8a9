#include <swapadvisor/core/error.h>
#include <swapadvisor/experiments/workloads.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/training_graph.h>

namespace swapadvisor {
namespace {

ModelOptions recurrent(std::int64_t layers, std::int64_t hidden, std::int64_t steps) {
  ModelOptions options;
  options.layers = layers;
  options.hidden = hidden;
  options.seq_len = steps;
  return options;
}

ModelOptions sequences(std::int64_t length) {
  ModelOptions options;
  options.seq_len = length;
  return options;
}

ModelOptions cells(std::int64_t count) {
  ModelOptions options;
  options.cells = count;
  return options;
}

std::vector<Workload> tiny_workloads() {
  ModelOptions narrow = recurrent(6, 256, 1);
  narrow.seq_len.reset();
  narrow.image_size = 16;
  return {{"MLP-6-256", "mlp", narrow, 64}, {"RNN-2-128", "rnn", recurrent(2, 128, 6), 32}};
}

/// As `plan` makes it: with synthetic data.
struct SettledTask {
  Model model;
  StepOptions step;
};

SettledTask task_of(const Workload& workload, std::int64_t batch_size) {
  TaskOptions options;
  options.model = workload.model;
  options.model_options = workload.options;
  options.batch_size = batch_size;
  const auto data = options.open(Split::train, 1);
  return {options.settle(*data), options.step_options(*data)};
}

}  // namespace

std::vector<Workload> workloads(ExperimentScale scale) {
  if (scale == ExperimentScale::tiny) return tiny_workloads();
  // The smallest batches whose training step needs 4 x 16 GB, fixed before anything was planned.
  return {
      {"RNN-8-8K", "rnn", recurrent(8, 8192, 20), 810}, {"BRNN-4-8K", "brnn", recurrent(4, 8192, 20), 307},
      {"WResNet-152-4", "wresnet152-4", {}, 81},        {"WResNet-152-10", "wresnet152-10", {}, 10},
      {"Inception-v4", "inception_v4", {}, 380, 0.85},  {"NASNet-A 25", "nasnet-a", cells(25), 71, 0.85},
      {"BERT-large", "bert-large", sequences(512), 37}, {"GPT-2 1.5B", "gpt2-xl", sequences(1024), 4}};
}

DeviceSpec paper_device(ExperimentScale scale) {
  DeviceSpec device = find_device("v100-16g");
  if (scale == ExperimentScale::tiny) device.memory_bytes = 2'000'000;
  return device;
}

ComputeSpec paper_compute() {
  return *find_compute_spec("v100-16g");
}

SharedGraph training_graph(const Workload& workload, std::int64_t batch_size, const ComputeSpec& compute) {
  const SettledTask task = task_of(workload, batch_size);
  Graph graph(workload.name);
  build_training_graph(graph, task.model, task.step);
  return std::make_shared<const PlanGraph>(lower(graph, model_ops(graph, compute)));
}

SharedGraph inference_graph(const Workload& workload, std::int64_t batch_size, const ComputeSpec& compute) {
  const SettledTask task = task_of(workload, batch_size);
  Graph graph(workload.name);
  build_inference_graph(graph, task.model, task.step);
  return std::make_shared<const PlanGraph>(lower(graph, model_ops(graph, compute)));
}

}  // namespace swapadvisor
