#include "training_run.h"

#include <swapadvisor/memory/device_host_store.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor::test {

Trained train(const SmallTraining& training, const Program& program, const HostBuffers& start, Device& device,
              std::int64_t capture_from) {
  const Graph& graph = training.graph();
  DeviceHostStore host(device);
  for (const auto& [name, bytes] : start) {
    const auto slot = host.reserve(name, static_cast<std::int64_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), slot.begin());
  }
  ExecutorOptions options;
  options.capture_from = capture_from;
  Executor executor(program, bind_kernels(graph, training.kernels()), device, host, options);
  Trained trained;
  const auto loss = static_cast<std::size_t>(graph.find_buffer("loss"));
  const auto take = [&] { trained.losses.push_back(executor.take().outputs[loss]); };
  for (std::int64_t step = 0; step < training_steps; ++step) {
    if (executor.in_flight() == 2) take();
    const auto data = training.inputs(step);
    std::vector<InputData> inputs;
    for (std::size_t b = 0; b < data.size(); ++b)
      if (graph.buffers()[b].kind == BufferKind::input) inputs.push_back({static_cast<int>(b), data[b]});
    executor.submit(inputs);
  }
  while (executor.in_flight() > 0) take();
  executor.drain();
  SWAPADVISOR_ASSERT(executor.captured_iterations() == (capture_from < 0 ? 0 : training_steps - capture_from),
                     "{} iterations were captured", executor.captured_iterations());
  for (const auto& [name, bytes] : start) {
    const auto slot = host.find(name);
    trained.persistent[name].assign(slot.begin(), slot.end());
  }
  return trained;
}

Values values_of(const Graph& graph, const Trained& trained) {
  Values values;
  for (const auto& [name, bytes] : trained.persistent) {
    const TensorSpec& spec = graph.buffers()[static_cast<std::size_t>(graph.find_buffer(name))].spec;
    values[name] = to_logical(spec, bytes);
  }
  const TensorSpec& loss = graph.buffers()[static_cast<std::size_t>(graph.find_buffer("loss"))].spec;
  for (std::size_t i = 0; i < trained.losses.size(); ++i)
    values["loss of step " + std::to_string(i)] = to_logical(loss, trained.losses[i]);
  return values;
}

double error_of(const Values& a, const Values& b) {
  double squares = 0, norm = 0;
  for (const auto& [name, values] : b)
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double difference = a.at(name).at(i) - values[i];
      squares += difference * difference;
      norm += values[i] * values[i];
    }
  return std::sqrt(squares / norm);
}

HostBuffers widened(const HostBuffers& start, const Graph& narrow, const Graph& wide) {
  HostBuffers result;
  for (const auto& [name, bytes] : start) {
    const auto spec = [&](const Graph& graph) {
      return graph.buffers()[static_cast<std::size_t>(graph.find_buffer(name))].spec;
    };
    result[name] = from_logical(spec(wide), to_logical(spec(narrow), bytes));
  }
  return result;
}

}  // namespace swapadvisor::test
