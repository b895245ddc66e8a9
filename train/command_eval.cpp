#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/planning.h>
#include <swapadvisor/train/trainer.h>
#include <swapadvisor/train/weights.h>

namespace swapadvisor {
namespace {

struct EvalCommand {
  TaskOptions task;
  DeviceCommandOptions device;
  PlanCommandOptions plan;
  OutputOptions output;
  std::string weights;
  std::uint64_t seed = 1;
};

void run_eval(const EvalCommand& c) {
  const auto data = c.task.open(Split::test, c.seed);
  const Model model = c.task.settle(*data);
  Graph graph(model.info.name + "-eval");
  const std::vector<LossPart> parts = build_evaluation_graph(graph, model, c.task.step_options(*data));
  const Backend backend = c.device.open();
  const auto& device = backend.device;
  DeviceHostStore host(*device, c.plan.host_bytes());
  load_weights(c.weights, graph, host);
  if (!data->doubt().empty()) warn(data->doubt());
  SessionPlanning planning(c.plan, c.device, *device);
  const SessionOptions options = planning.options();
  Session session(graph, *device, host, backend.kernels, options);
  const Evaluation e = evaluate(session, *data, c.task.batch_size, parts);
  if (c.output.json) {
    nlohmann::ordered_json object{{"test_accuracy", e.accuracy}, {"test_loss", e.loss}};
    if (!e.losses.empty()) object["test_losses"] = e.losses;
    if (e.bits_per_byte) object["bits_per_byte"] = *e.bits_per_byte;
    object.update({{"samples", e.samples},
                   {"device_bytes_needed", session.bytes_needed()},
                   {"device_bytes_peak", device->arena_bytes()},
                   {"planner", session.program().planner},
                   {"cached", planning.source().cached}});
    if (session.captured_prediction()) object["cuda_graph_steps"] = session.executor().captured_iterations();
    print_json(object);
    return;
  }
  if (const auto& captured = session.captured_prediction())
    fmt::print("{}\n", describe(*captured, session.launch_costs()));
  fmt::print("{}, {} samples\n", describe(e), e.samples);
}

}  // namespace

void add_eval_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("eval", "Measure loss and accuracy of trained weights on the test data");
  auto c = std::make_shared<EvalCommand>();
  c->task.add_to(*command);
  command->remove_option(command->get_option("--accumulate"));
  c->device.add_to(*command);
  c->device.add_graph_to(*command);
  c->plan.add_to(*command);
  c->output.add_to(*command);
  command->add_option("--weights", c->weights, "Weights (safetensors)")->required();
  command->add_option("--seed", c->seed, "Seed of synthetic data")->check(whole_seed())->capture_default_str();
  command->callback([c] { run_eval(*c); });
}

}  // namespace swapadvisor
