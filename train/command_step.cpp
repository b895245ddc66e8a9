// step: one training step from given weights and inputs, to compare with another framework.
#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/planning.h>
#include <swapadvisor/train/safetensors.h>
#include <swapadvisor/train/weights.h>

#include <cmath>
#include <cstring>
#include <map>

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

/// What a step reads from its file: the model's inputs and targets by name.
struct StepInputs {
  std::int64_t batch_size = 0;
  std::map<std::string, std::vector<std::byte>> arrays;
};

/// The tensor for the model's first input, which says how large the samples are.
const StoredTensor& first_tensor(const SafetensorsFile& file, const Model& model) {
  std::string missing;
  for (const auto* inputs : {&model.inputs, &model.targets})
    for (const ModelInput& input : *inputs)
      if (!file.find(input.name) && !input.otherwise)
        missing += fmt::format("{}'{}'", missing.empty() ? "" : ", ", input.name);
  if (!missing.empty())
    fail("{}: the inputs of {} are needed, and these are missing: {}", file.path(), model.info.name, missing);
  const ModelInput& first = model.inputs.front();
  const StoredTensor* tensor = file.find(first.name);
  if (!tensor) fail("{}: tensor '{}' is needed", file.path(), first.name);
  if (tensor->shape.rank() != first.shape.rank() + 1 || tensor->shape.numel() < 1)
    fail("{}: '{}' has shape {}, expected {} dimensions, the samples first", file.path(), first.name,
         to_string(tensor->shape), first.shape.rank() + 1);
  return *tensor;
}

/// The options with the sizes that the file decides; they must not disagree.
ModelOptions with_sizes(ModelOptions options, const Model& model, const Shape& shape,
                        const std::string& path) {
  const auto decide = [&](std::optional<std::int64_t>& option, std::int64_t value, const char* what) {
    if (option.value_or(value) != value)
      fail("{}: '{}' has shape {}, which is not the {} asked for", path, model.inputs.front().name,
           to_string(shape), what);
    option = value;
  };
  if (model.info.takes_images()) {
    if (shape[2] != shape[3])
      fail("{}: '{}' has shape {}, but '{}' takes square images", path, model.inputs.front().name,
           to_string(shape), model.info.name);
    decide(options.channels, shape[1], "number of channels");
    decide(options.image_size, shape[2], "image size");
  } else if (shape.rank() > 1) {
    decide(options.seq_len, shape[1], "sequence length");
  }
  return options;
}

void check_range(const ModelInput& input, bool target, std::span<const std::byte> bytes,
                 const std::string& path) {
  if (input.dtype != DType::i32 || input.below == 0) return;
  const std::span values(reinterpret_cast<const std::int32_t*>(bytes.data()),
                         bytes.size() / sizeof(std::int32_t));
  for (std::size_t i = 0; i < values.size(); ++i)
    if ((values[i] < 0 || values[i] >= input.below) && !(target && values[i] == ignored_label))
      fail("{}: element {} of '{}' is {}, expected 0 to {}{}", path, i, input.name, values[i],
           input.below - 1, target ? fmt::format(" or {}", ignored_label) : "");
}

std::vector<std::byte> read_input(const SafetensorsFile& file, const ModelInput& input, bool target,
                                  std::int64_t batch_size, DType dtype) {
  const TensorSpec spec = input.spec(batch_size, dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(spec.bytes()));
  if (const StoredTensor* tensor = file.find(input.name)) {
    if (tensor->shape != spec.shape)
      fail("{}: '{}' has shape {}, expected {}", file.path(), input.name, to_string(tensor->shape),
           to_string(spec.shape));
    file.read_as(*tensor, spec.dtype, bytes);
    check_range(input, target, bytes, file.path());
    return bytes;
  }
  SWAPADVISOR_ASSERT(spec.dtype == DType::i32, "'{}' has a default value and is {}", input.name,
                     name_of(spec.dtype));
  const auto value = static_cast<std::int32_t>(*input.otherwise);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof value)
    std::memcpy(&bytes[at], &value, sizeof value);
  return bytes;
}

StepInputs read_inputs(const SafetensorsFile& file, const Model& model, std::int64_t batch_size,
                       DType dtype) {
  StepInputs inputs{batch_size, {}};
  for (const ModelInput& input : model.inputs)
    inputs.arrays.emplace(input.name, read_input(file, input, false, batch_size, dtype));
  for (const ModelInput& target : model.targets)
    inputs.arrays.emplace(target.name, read_input(file, target, true, batch_size, dtype));
  return inputs;
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
  if (dtype == DType::f64 && c.task.dtype() == DType::bf16)
    throw CLI::ValidationError("--dtype f64 and --precision bf16 cannot both be");
  const SafetensorsFile file(c.inputs);
  const Model asked = as_usage([&] { return find_model(c.task.model, c.task.model_options); });
  const Shape shape = first_tensor(file, asked).shape;
  check_writable({c.out});
  const ModelOptions model_options = with_sizes(c.task.model_options, asked, shape, c.inputs);
  const Model model = as_usage([&] { return find_model(c.task.model, model_options); });
  c.optimizer.check_usage();
  const StepInputs data = read_inputs(file, model, shape[0], dtype);
  StepOptions step;
  step.batch_size = data.batch_size;
  step.dtype = dtype == DType::f64 ? dtype : c.task.dtype();
  step.label_smoothing = c.optimizer.label_smoothing;
  step.optimizer = c.optimizer.optimizer;
  step.output_gradients = true;
  Graph graph(model.info.name);
  build_training_graph(graph, model, step);
  const Backend backend = c.device.open();
  const auto& device = backend.device;
  DeviceHostStore host(*device, c.plan.host_bytes());
  load_weights(c.weights, graph, host);
  initialize_persistent(graph, host, c.seed);
  SessionPlanning planning(c.plan, c.device, *device);
  SessionOptions options = planning.options();
  options.seed = c.seed;
  options.profile_repeats = 1;
  Session session(graph, *device, host, backend.kernels, options);
  Session::Inputs inputs;
  for (const auto& [name, bytes] : data.arrays) inputs.emplace(name, bytes);
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
  for (const char* name :
       {"--batch-size", "--accumulate", "--dataset", "--data", "--vocab-file", "--merges-file"})
    command->remove_option(command->get_option(name));
  c->optimizer.optimizer.momentum = 0;
  c->optimizer.add_to(*command);
  command->remove_option(command->get_option("--ema"));  // it changes nothing that is written
  c->device.add_to(*command);
  c->plan.add_to(*command);
  c->output.add_to(*command);
  command->add_option("--weights", c->weights, "Parameters and states (safetensors)")->required();
  command
      ->add_option("--inputs", c->inputs,
                   "The model's inputs and targets by name (safetensors): of images `input` [N, C, H, W] and "
                   "`target` [N]")
      ->required();
  command->add_option("--out", c->out, "Result: loss, grad.NAME, NAME (safetensors)")->required();
  command->add_option("--dtype", c->dtype, "Type of parameters and gradients: f32 or f64")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  command->add_option("--seed", c->seed, "Seed of random ops")->check(whole_seed())->capture_default_str();
  command->callback([c] { run_step(*c); });
}

}  // namespace swapadvisor
