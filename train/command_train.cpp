#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/swap/trace.h>
#include <swapadvisor/train/averaged_parameters.h>
#include <swapadvisor/train/checkpoint_options.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/planning.h>
#include <swapadvisor/train/progress.h>
#include <swapadvisor/train/run_identity.h>
#include <swapadvisor/train/schedule.h>
#include <swapadvisor/train/trainer.h>
#include <swapadvisor/train/training_log.h>
#include <swapadvisor/train/weights.h>

#include <chrono>
#include <cmath>

namespace swapadvisor {
namespace {

struct TrainCommand {
  TaskOptions task;
  OptimizerCommandOptions optimizer;
  DeviceCommandOptions device;
  PlanCommandOptions plan;
  OutputOptions output;
  CheckpointCommandOptions checkpoints;
  std::int64_t epochs = 0, steps = 0, warmup = 0;
  std::string schedule = "cosine", last_batch = "drop", augment = "none";
  std::string plan_file, weights, out, log, tensorboard, plot, trace;
  std::vector<std::string> frozen;
  std::uint64_t seed = 1, planner_seed = 1;
  int loader_threads = 1;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Shows and logs what the trainer tells.
class Watcher {
 public:
  Watcher(const TrainCommand& command, std::int64_t total_steps, std::int64_t steps_per_epoch,
          TrainingLogOptions log)
      : total_(total_steps),
        epochs_((total_steps + steps_per_epoch - 1) / steps_per_epoch),
        reporter_(progress_mode(!command.output.people())) {
    log_ = std::make_unique<TrainingLog>(std::move(log));
  }

  void step(const StepMetrics& m, std::int64_t device_bytes) {
    const double accuracy = m.rows > 0 ? static_cast<double>(m.correct) / static_cast<double>(m.rows) : 0;
    // Smoothed, so that a reader sees a trend rather than noise.
    if (m.iteration_seconds > 0)
      seconds_ = seconds_ == 0 ? m.iteration_seconds : 0.9 * seconds_ + 0.1 * m.iteration_seconds;
    Progress progress;
    progress.step = m.step + 1;
    progress.total_steps = total_;
    progress.epoch = m.epoch;
    progress.epochs = epochs_;
    progress.samples_per_second = seconds_ > 0 ? static_cast<double>(m.samples) / seconds_ : 0;
    progress.loss = m.loss;
    progress.accuracy = accuracy;
    progress.device_bytes = device_bytes;
    progress.elapsed_seconds = now() - start_;
    reporter_.update(progress, now());
    log_->step(m);
  }

  void epoch(std::int64_t index, std::int64_t steps, const Evaluation& test) {
    reporter_.message(fmt::format("epoch {}/{}  {}", index + 1, epochs_, describe(test)));
    log_->epoch(index, steps, test);
  }

  std::int64_t total_steps() const { return total_; }
  void begin() { start_ = now(); }
  void finish() { log_->finish(); }
  void message(const std::string& text) { reporter_.message(text); }
  ProgressReporter& reporter() { return reporter_; }

 private:
  std::int64_t total_, epochs_;
  ProgressReporter reporter_;
  std::unique_ptr<TrainingLog> log_;
  double start_ = now(), seconds_ = 0;
};

nlohmann::ordered_json summary(const TrainReport& report, Session& session, Device& device, HostStore& host) {
  const Prediction& p = session.program().predicted;
  nlohmann::ordered_json object{{"final_loss", report.final_loss},
                                {"final_loss_hex", fmt::format("{:a}", report.final_loss)},
                                {"parameters_hash", report.parameters_hash}};
  if (report.test) {
    object["test_accuracy"] = report.test->accuracy;
    object["test_loss"] = report.test->loss;
    if (!report.test->losses.empty()) object["test_losses"] = report.test->losses;
    if (report.test->bits_per_byte) object["bits_per_byte"] = *report.test->bits_per_byte;
  }
  object.update({{"steps", report.steps},
                 {"interrupted", report.interrupted},
                 {"seconds", report.seconds},
                 {"samples_per_second", report.samples_per_second},
                 {"iteration_seconds", report.iteration_seconds},
                 {"iteration_seconds_predicted", p.iteration_seconds},
                 {"ideal_seconds", p.ideal_seconds},
                 {"device_bytes_needed", session.bytes_needed()},
                 {"device_bytes_limit", session.bytes_limit()},
                 {"device_bytes_peak", device.arena_bytes()},
                 {"host_bytes_peak", host.bytes()},
                 {"swap_in_bytes", p.swap_in_bytes},
                 {"swap_out_bytes", p.swap_out_bytes},
                 {"efficiency_predicted", p.efficiency},
                 {"efficiency_measured", report.efficiency_measured},
                 {"planner", session.program().planner}});
  if (const auto& captured = session.captured_prediction())
    object.update({{"iteration_seconds_predicted_streams", captured->stream_seconds},
                   {"iteration_seconds_predicted_graph", captured->captured_seconds},
                   {"cuda_graph_steps", session.executor().captured_iterations()}});
  return object;
}

void introduce(const Session& session, const Graph& graph, Watcher& watcher) {
  const Program& program = session.program();
  const Prediction& p = program.predicted;
  watcher.message(fmt::format("{}: {} parameters, {} ops; needs {} of device memory, limit {}", graph.name(),
                              parameter_count(graph), graph.nodes().size(), format_bytes(session.bytes_needed()),
                              format_bytes(session.bytes_limit())));
  watcher.message(fmt::format("planner {}: {} of device memory, swaps {} in and {} out per step, predicted {} a step "
                              "({:.1f} % of ideal)",
                              program.planner, format_bytes(program.arena_bytes), format_bytes(p.swap_in_bytes),
                              format_bytes(p.swap_out_bytes), format_seconds(p.iteration_seconds),
                              100 * p.efficiency));
  if (const auto& captured = session.captured_prediction())
    watcher.message(describe(*captured, session.launch_costs()));
}

void conclude(const TrainReport& report, const Session& session) {
  const Prediction& p = session.program().predicted;
  if (report.steps_taken == 0)
    fmt::print("all {} steps were done before\n", report.steps);
  else
    fmt::print("{} steps in {}: {:.1f} samples/s, {} a step (predicted {}), efficiency {:.1f} % (predicted {:.1f} %)\n",
             report.steps_taken, format_seconds(report.seconds), report.samples_per_second,
             format_seconds(report.iteration_seconds), format_seconds(p.iteration_seconds),
             100 * report.efficiency_measured, 100 * p.efficiency);
  fmt::print("final loss {:.6f} ({:a}), parameters {}\n", report.final_loss, report.final_loss,
             report.parameters_hash);
  if (report.test) fmt::print("{}, {} samples\n", describe(*report.test), report.test->samples);
}

/// Averages of the parameters where there are any, else the parameters.
void save(const Trainer& trainer, HostStore& host, const std::string& out) {
  std::optional<AveragedParameters> averaged;
  if (trainer.steps_done() > 0) averaged.emplace(trainer.graph(), host);
  save_weights(out, trainer.graph(), host);
}

/// What was learnt is saved also when the run ends with an error, such as a loss that is not finite.
TrainReport run_and_save(Trainer& trainer, HostStore& host, const std::string& out) {
  TrainReport report;
  try {
    report = trainer.run();
  } catch (const Error& error) {
    if (out.empty()) throw;
    trainer.session().drain();
    save(trainer, host, out);
    fail("{}; written to {}", error.what(), out);
  }
  if (report.steps == 0) fail("interrupted before the first step");
  if (!out.empty()) save(trainer, host, out);
  return report;
}

void run_train(const TrainCommand& c) {
  InterruptStop interrupt;
  const auto train = c.task.open(Split::train, c.seed);
  const auto test = c.task.open_test(c.seed);
  if (test && test->fields() != train->fields())
    fail("{}: the training samples have other shapes than the test samples", c.task.data);
  const Model model = c.task.settle(*train);
  c.optimizer.check_usage();
  check_writable({c.out, c.trace, c.plot});
  TrainerOptions options;
  options.step = c.task.step_options(*train);
  options.step.optimizer = c.optimizer.optimizer;
  options.step.label_smoothing = c.optimizer.label_smoothing;
  options.step.frozen = c.frozen;
  if (!c.frozen.empty())
    as_usage([&] {
      Graph graph(model.info.name);
      build_training_graph(graph, model, options.step);
    });
  options.loader.batch_size = c.task.batch_size * c.task.accumulate;
  options.loader.last_batch = parse_last_batch(c.last_batch);
  options.loader.augmentation = parse_augmentation(c.augment);
  options.loader.seed = c.seed;
  options.loader.threads = c.loader_threads;
  const std::int64_t per_epoch = BatchAssembler(*train, options.loader).steps_per_epoch();
  options.steps = c.steps > 0 ? c.steps : std::max<std::int64_t>(1, c.epochs) * per_epoch;
  const ScheduleSpan span{c.optimizer.rate(), c.warmup, options.steps, per_epoch};
  options.learning_rate = [schedule = parse_schedule(c.schedule), span](std::int64_t step) {
    return learning_rate(schedule, span, step);
  };
  options.stop = interrupt.token();
  const Backend backend = c.device.open();
  const auto& device = backend.device;
  RunCheckpoints checkpoints(
      c.checkpoints,
      {.model = model.info.name,
       .seed = c.seed,
       .threads = device->threads(),
       .options = run_options(c.task, model, *train, c.optimizer,
                              {c.schedule, c.last_batch, c.augment, c.warmup, options.steps, c.frozen})});
  checkpoints.set_up(options, per_epoch);
  Watcher watcher(c, options.steps, per_epoch,
                  {c.log, c.tensorboard, c.plot, fmt::format("{}, {}", model.info.name, c.task.dataset),
                   options.done_steps});
  SessionPlanning planning(c.plan, c.device, *device, &watcher.reporter(), &interrupt);
  options.session = planning.options();
  options.session.plan_file = c.plan_file;
  options.session.seed = c.seed;
  options.session.planner_seed = c.planner_seed;
  options.session.trace_iterations = c.trace.empty() ? 0 : 8;
  DeviceHostStore host(*device, c.plan.host_bytes());
  options.on_step = [&](const StepMetrics& m) { watcher.step(m, device->arena_bytes()); };
  options.on_epoch = [&, total = options.steps](std::int64_t epoch, const Evaluation& e) {
    watcher.epoch(epoch, std::min((epoch + 1) * per_epoch, total), e);
  };
  for (const Dataset* data : {train.get(), test.get()})
    if (data != nullptr && !data->doubt().empty()) warn(data->doubt());
  watcher.message(fmt::format("measuring and planning {} …", model.info.name));
  Trainer trainer(model, *train, test.get(), *device, host, backend.kernels, std::move(options));
  if (!c.weights.empty()) load_weights(c.weights, trainer.graph(), host);
  checkpoints.load(trainer, host);
  if (const auto& from = checkpoints.resumed())
    watcher.message(fmt::format("goes on from {}, {} steps done", from->path, from->state.steps));
  introduce(trainer.session(), trainer.graph(), watcher);
  watcher.begin();
  const TrainReport report = run_and_save(trainer, host, c.out);
  watcher.finish();
  if (report.interrupted) warn(fmt::format("interrupted after {} of {} steps", report.steps, watcher.total_steps()));
  if (c.output.json) {
    nlohmann::ordered_json object = summary(report, trainer.session(), *device, host);
    object["cached"] = planning.source().cached;
    print_json(object);
  } else
    conclude(report, trainer.session());
  if (!c.trace.empty()) write_chrome_trace(c.trace, trainer.session().program(), trainer.session().executor().spans());
}

}  // namespace

void add_train_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "Train a model, within a memory limit if there is one");
  auto c = std::make_shared<TrainCommand>();
  c->task.add_to(*command);
  c->optimizer.add_to(*command);
  c->device.add_to(*command);
  c->device.add_graph_to(*command);
  c->plan.add_to(*command);
  c->output.add_to(*command);
  c->checkpoints.add_to(*command);
  auto* epochs = command->add_option("--epochs", c->epochs, "Epochs to train (1)")
                     ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  command->add_option("--steps", c->steps, "Steps to train, instead of epochs")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->excludes(epochs);
  add_checked(*command, "--lr-schedule", c->schedule, "constant, cosine[:MIN], linear[:MIN] or step:E1,E2[:FACTOR]",
              [](const std::string& text) { parse_schedule(text); })
      ->capture_default_str();
  command->add_option("--warmup", c->warmup, "Steps over which the learning rate rises")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  command->add_option("--last-batch", c->last_batch, "An uneven last batch: drop or pad")
      ->check(CLI::IsMember({"drop", "pad"}))
      ->capture_default_str();
  add_checked(*command, "--augment", c->augment, "none, or any of crop[:PIXELS],resized-crop,flip",
              [](const std::string& text) { parse_augmentation(text); })
      ->capture_default_str();
  command->add_option("--plan", c->plan_file, "Run this plan v1 file instead of planning");
  command->add_option("--weights", c->weights, "Start from these weights (safetensors)");
  command
      ->add_option("--freeze", c->frozen,
                   "Do not train the parameters of these names or below them, such as conv1,layer1")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--out", c->out, "Write the trained weights to this file (safetensors)");
  command->add_option("--log", c->log, "Append one JSON object per step to this file");
  command->add_option("--tensorboard", c->tensorboard, "Write an event file for TensorBoard to this folder");
  command->add_option("--plot", c->plot, "Draw loss and accuracy over the steps to this file (SVG)");
  command->add_option("--trace", c->trace, "Write the first steps as a Chrome trace (opens in Perfetto)");
  command->add_option("--seed", c->seed, "Seed of weights, data order and random ops")->check(whole_seed())->capture_default_str();
  command->add_option("--planner-seed", c->planner_seed, "Seed of the planner's search")->check(whole_seed())->capture_default_str();
  command->add_option("--loader-threads", c->loader_threads, "Threads that prepare batches")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->callback([c] { run_train(*c); });
}

}  // namespace swapadvisor
