#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/train/cli.h>

namespace swapadvisor {
namespace {

std::int64_t parameters_of(const ModelInfo& info) {
  const Model model = find_model(info.name);
  Graph graph(info.name);
  build_inference_graph(graph, model, {});
  return parameter_count(graph);
}

void list_models(bool json) {
  auto models = nlohmann::ordered_json::array();
  for (const ModelInfo& info : model_list()) {
    const std::int64_t parameters = parameters_of(info);
    nlohmann::ordered_json model{{"name", info.name},
                                 {"summary", info.summary},
                                 {"task", name_of(info.task)},
                                 {"parameters", parameters}};
    if (info.takes_images())
      model.update({{"channels", info.channels}, {"image_size", info.image_size}});
    else
      model.update({{"seq_len", info.seq_len}, {"vocab", info.vocab}});
    if (info.takes_images() || info.task == Task::sequence_classification) model["classes"] = info.classes;
    model["options"] = info.options;
    models.push_back(std::move(model));
    if (!json)
      fmt::print("{:<23}{:>10} parameters  {:<27}{}\n", info.name, parameters, name_of(info.task),
                 info.summary);
  }
  if (json) print_json({{"models", models}});
}

void list_planners(bool json) {
  auto planners = nlohmann::ordered_json::array();
  for (const PlannerInfo& info : planner_list()) {
    planners.push_back({{"name", info.name}, {"summary", info.summary}, {"searches", info.searches}});
    if (!json) fmt::print("{:<14}{}\n", info.name, info.summary);
  }
  if (json) print_json({{"planners", planners}});
}

/// The GPU that `--device cuda` opens, or why it does not.
void list_gpu(bool json, nlohmann::ordered_json& devices) {
  try {
    const Backend gpu = open_cuda({});
    const std::int64_t bytes = gpu.device->free_bytes();
    devices.push_back({{"name", gpu.device->name()}, {"runs_here", true}, {"memory_bytes", bytes}});
    if (!json) fmt::print("{:<12}{:>9}  this machine's GPU\n", gpu.device->name(), format_bytes(bytes));
  } catch (const Error& error) {
    devices.push_back({{"name", "cuda"}, {"runs_here", false}, {"reason", error.what()}});
    if (!json) fmt::print("{:<12}{:>9}  not here: {}\n", "cuda", "-", error.what());
  }
}

void list_devices(bool json) {
  auto devices = nlohmann::ordered_json::array();
  devices.push_back({{"name", "cpu"}, {"runs_here", true}, {"memory_bytes", available_memory_bytes()}});
  if (!json)
    fmt::print("{:<12}{:>9}  this machine's processor; `swapadvisor profile` measures it\n", "cpu",
               format_bytes(available_memory_bytes()));
  list_gpu(json, devices);
  for (const DeviceSpec& device : named_devices()) {
    nlohmann::ordered_json entry = nlohmann::ordered_json::parse(device_to_json(device));
    entry["runs_here"] = false;
    devices.push_back(std::move(entry));
    if (!json)
      fmt::print("{:<12}{:>9}  for planning: to device {}, to host {}, both {}\n", device.name,
                 format_bytes(device.memory_bytes), format_bandwidth(device.h2d_bytes_per_second),
                 format_bandwidth(device.d2h_bytes_per_second),
                 format_bandwidth(device.duplex_bytes_per_second));
  }
  if (json) print_json({{"devices", devices}});
}

void add_list(CLI::App& app, const std::string& name, const std::string& help, void (*list)(bool)) {
  CLI::App* command = app.add_subcommand(name, help);
  auto output = std::make_shared<OutputOptions>();
  output->add_to(*command);
  command->callback([output, list] { list(output->json); });
}

}  // namespace

void add_list_commands(CLI::App& app) {
  add_list(app, "models", "List the models with their parameter counts", list_models);
  add_list(app, "planners", "List the planners", list_planners);
  add_list(app, "devices", "List the devices to run on and to plan for", list_devices);
}

}  // namespace swapadvisor
