#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
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
  build_evaluation_graph(graph, model, c.task.step_options(*data));
  const auto device = c.device.open();
  DeviceHostStore host(*device, c.plan.host_bytes());
  load_weights(c.weights, graph, host);
  if (!data->doubt().empty()) warn(data->doubt());
  SessionPlanning planning(c.plan, c.device, *device);
  const SessionOptions options = planning.options();
  Session session(graph, *device, host, cpu_kernels(), options);
  const Evaluation e = evaluate(session, *data, c.task.batch_size);
  if (c.output.json) {
    print_json({{"test_accuracy", e.accuracy},
                {"test_loss", e.loss},
                {"samples", e.samples},
                {"device_bytes_needed", session.bytes_needed()},
                {"device_bytes_peak", device->arena_bytes()},
                {"planner", session.program().planner},
                {"cached", planning.source().cached}});
    return;
  }
  fmt::print("test accuracy {:.2f} %, loss {:.4f}, {} samples\n", 100 * e.accuracy, e.loss, e.samples);
}

}  // namespace

void add_eval_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("eval", "Measure loss and accuracy of trained weights on the test data");
  auto c = std::make_shared<EvalCommand>();
  c->task.add_to(*command);
  c->device.add_to(*command);
  c->plan.add_to(*command);
  c->output.add_to(*command);
  command->add_option("--weights", c->weights, "Weights (safetensors)")->required();
  command->add_option("--seed", c->seed, "Seed of synthetic data")->check(whole_seed())->capture_default_str();
  command->callback([c] { run_eval(*c); });
}

}  // namespace swapadvisor
