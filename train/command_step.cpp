// step: one training step from given weights and inputs, to compare with another framework.
#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/planning.h>
#include <swapadvisor/train/safetensors.h>
#include <swapadvisor/train/weights.h>

#include <cmath>

namespace swapadvisor {
namespace {

struct StepCommand {
  TaskOptions task;
  OptimizerCommandOptions optimizer;
  DeviceCommandOptions device;
  PlanCommandOptions plan;
  OutputOptions output;
  std::string weights, inputs, out, dtype = "f32";
  std::uint64_t seed = 1;
};

struct StepInputs {
  Shape image_shape;  // N, C, H, W
  std::vector<std::byte> images, targets;
};

StepInputs read_inputs(const std::string& path, DType dtype) {
  const SafetensorsFile file(path);
  const StoredTensor* images = file.find(names::input);
  const StoredTensor* targets = file.find(names::target);
  if (!images || !targets) fail("{}: tensors 'input' and 'target' are needed", path);
  if (images->shape.rank() != 4 || images->shape.numel() < 1)
    fail("{}: 'input' has shape {}, expected [N, C, H, W]", path, to_string(images->shape));
  if (targets->shape != Shape{images->shape[0]})
    fail("{}: 'target' has shape {}, expected [{}]", path, to_string(targets->shape), images->shape[0]);
  StepInputs inputs{images->shape, {}, {}};
  inputs.images.resize(static_cast<std::size_t>(images->shape.numel() * size_of(dtype)));
  inputs.targets.resize(static_cast<std::size_t>(targets->shape.numel() * size_of(DType::i32)));
  file.read_as(*images, dtype, inputs.images);
  file.read_as(*targets, DType::i32, inputs.targets);
  return inputs;
}

void check_targets(const StepInputs& inputs, std::int64_t classes, const std::string& path) {
  const auto* labels = reinterpret_cast<const std::int32_t*>(inputs.targets.data());
  for (std::size_t i = 0; i < inputs.targets.size() / sizeof(std::int32_t); ++i)
    if (labels[i] != -100 && (labels[i] < 0 || labels[i] >= classes))
      fail("{}: target {} is {}, but the model has {} classes", path, i, labels[i], classes);
}

/// Loss and gradients from the outputs of the step, parameters and model states from the host store.
void write_results(const std::string& path, const Graph& graph, const IterationResult& result, HostStore& host) {
  std::vector<StoredTensor> tensors;
  for (const Buffer& b : graph.buffers())
    if (is_model_buffer(b) || b.name == names::loss || b.name.starts_with("grad."))
      tensors.push_back({b.name, stored_type(b.spec.dtype), b.spec.shape});
  SafetensorsWriter writer(path, std::move(tensors));
  for (const StoredTensor& tensor : writer.tensors()) {
    const int buffer = graph.find_buffer(tensor.name);
    if (is_persistent(graph.buffers()[static_cast<std::size_t>(buffer)].kind))
      writer.write(tensor.name, host.find(tensor.name));
    else
      writer.write(tensor.name, result.outputs[static_cast<std::size_t>(buffer)]);
  }
  writer.commit();
}

void run_step(const StepCommand& c) {
  const DType dtype = parse_dtype(c.dtype);
  const StepInputs data = read_inputs(c.inputs, dtype);
  ModelOptions model_options = c.task.model_options;
  if (model_options.image_size.value_or(data.image_shape[2]) != data.image_shape[2] ||
      model_options.channels.value_or(data.image_shape[1]) != data.image_shape[1])
    fail("{}: 'input' has shape {}, which is not the image size or the channels asked for", c.inputs,
         to_string(data.image_shape));
  check_writable({c.out});
  model_options.channels = data.image_shape[1];
  model_options.image_size = data.image_shape[2];
  const Model model = as_usage([&] { return find_model(c.task.model, model_options); });
  c.optimizer.check_usage();
  if (model.input_spec(data.image_shape[0], dtype).shape != data.image_shape)
    fail("{}: 'input' has shape {}, but '{}' takes square images", c.inputs, to_string(data.image_shape),
         c.task.model);
  check_targets(data, model.info.classes, c.inputs);
  StepOptions step;
  step.batch_size = data.image_shape[0];
  step.dtype = dtype;
  step.label_smoothing = c.optimizer.label_smoothing;
  step.optimizer = c.optimizer.optimizer;
  step.output_gradients = true;
  Graph graph(model.info.name);
  build_training_graph(graph, model, step);
  const auto device = c.device.open();
  DeviceHostStore host(*device, c.plan.host_bytes());
  load_weights(c.weights, graph, host);
  initialize_persistent(graph, host, c.seed);
  SessionPlanning planning(c.plan, c.device, *device);
  SessionOptions options = planning.options();
  options.seed = c.seed;
  options.profile_repeats = 1;
  Session session(graph, *device, host, cpu_kernels(), options);
  Session::Inputs inputs{{names::input, data.images}, {names::target, data.targets}};
  const StepScalars scalars(step.optimizer, 0, c.optimizer.rate());
  scalars.add_to(inputs, graph);
  const IterationResult result = session.run(inputs);
  session.drain();
  write_results(c.out, graph, result, host);
  const double loss = dtype == DType::f64 ? scalar_output<double>(result, graph, names::loss)
                                          : static_cast<double>(scalar_output<float>(result, graph, names::loss));
  if (c.output.json)
    print_json({{"loss", loss},
                {"loss_hex", fmt::format("{:a}", loss)},
                {"device_bytes_needed", session.bytes_needed()},
                {"device_bytes_peak", device->arena_bytes()},
                {"planner", session.program().planner},
                {"cached", planning.source().cached}});
  else
    fmt::print("loss {:.17g}\n", loss);
  if (!std::isfinite(loss)) fail("{}: the loss of this step is not finite: {}", c.inputs, loss);
}

}  // namespace

void add_step_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "step", "One training step from given weights and inputs; writes loss, gradients and updated parameters");
  auto c = std::make_shared<StepCommand>();
  c->task.add_to(*command);
  // The inputs file decides these.
  for (const char* name : {"--batch-size", "--dataset", "--data"}) command->remove_option(command->get_option(name));
  c->optimizer.optimizer.momentum = 0;
  c->optimizer.add_to(*command);
  c->device.add_to(*command);
  c->plan.add_to(*command);
  c->output.add_to(*command);
  command->add_option("--weights", c->weights, "Parameters and states (safetensors)")->required();
  command->add_option("--inputs", c->inputs, "Tensors `input` [N, C, H, W] and `target` [N] (safetensors)")->required();
  command->add_option("--out", c->out, "Result: loss, grad.NAME, NAME (safetensors)")->required();
  command->add_option("--dtype", c->dtype, "Precision: f32 or f64")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  command->add_option("--seed", c->seed, "Seed of random ops")->check(whole_seed())->capture_default_str();
  command->callback([c] { run_step(*c); });
}

}  // namespace swapadvisor
