#include <swapadvisor/core/rng.h>
#include <swapadvisor/train/averaged_parameters.h>
#include <swapadvisor/train/micro_batches.h>
#include <swapadvisor/train/trainer.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

namespace swapadvisor {
namespace {

double read_loss(const IterationResult& result, const Graph& graph, const std::string& name = names::loss) {
  const int buffer = graph.find_buffer(name);
  if (graph.buffers()[static_cast<std::size_t>(buffer)].spec.dtype == DType::f64)
    return scalar_output<double>(result, graph, name);
  return scalar_output<float>(result, graph, name);
}

/// Rows of the first prediction that count.
std::int64_t read_rows(const IterationResult& result, const Graph& graph, std::int64_t samples) {
  return sum_of_outputs(result, graph, names::rows).value_or(samples);
}

/// Means over all batches, of which each counts as many rows as it has.
struct Mean {
  double sum = 0;
  std::int64_t rows = 0;

  void add(double mean, std::int64_t count) {
    sum += mean * static_cast<double>(count);
    rows += count;
  }
  double value() const { return rows > 0 ? sum / static_cast<double>(rows) : 0; }
};

template <class T>
bool all_finite(const void* data, std::int64_t n) {
  const T* values = static_cast<const T*>(data);
  return std::all_of(values, values + n, [](T v) { return std::isfinite(v); });
}

bool all_finite(const TensorSpec& spec, const void* data) {
  if (spec.dtype == DType::f32) return all_finite<float>(data, spec.numel());
  if (spec.dtype == DType::f64) return all_finite<double>(data, spec.numel());
  return true;
}

}  // namespace

std::string parameters_hash(const Graph& graph, HostStore& host) {
  std::vector<const Buffer*> buffers;
  for (const Buffer& buffer : graph.buffers())
    if (is_persistent(buffer.kind)) buffers.push_back(&buffer);
  std::sort(buffers.begin(), buffers.end(), [](const Buffer* a, const Buffer* b) { return a->name < b->name; });
  std::uint64_t hash = hash_name("");
  for (const Buffer* buffer : buffers) {
    hash = hash_name(buffer->name, hash);
    hash = hash_name(to_string(buffer->spec), hash);
    const auto data = host.find(buffer->name);
    hash = hash_name({reinterpret_cast<const char*>(data.data()), data.size()}, hash);
  }
  return fmt::format("{:016x}", hash);
}

std::string describe(const Evaluation& e) {
  std::string text = fmt::format("test accuracy {:.2f} %, loss {:.4f}", 100 * e.accuracy, e.loss);
  for (const auto& [target, loss] : e.losses) text += fmt::format(", {} {:.4f}", target, loss);
  if (e.bits_per_byte) text += fmt::format(", {:.4f} bits per byte", *e.bits_per_byte);
  return text;
}

Trainer::Trainer(const Model& model, const Dataset& train, const Dataset* test, Device& device,
                 HostStore& host, const KernelSet& kernels, TrainerOptions options)
    : train_(train),
      test_(test),
      device_(device),
      host_(host),
      options_(std::move(options)),
      graph_(model.info.name),
      evaluation_graph_(model.info.name + "-eval") {
  if (!options_.learning_rate)
    options_.learning_rate = [rate = options_.step.optimizer.default_learning_rate()](std::int64_t) { return rate; };
  const std::string prefix = options_.session.slot_prefix;
  const std::int64_t samples = options_.step.batch_size * options_.step.micro_batches;
  if (options_.loader.batch_size != samples)
    fail("the loader makes batches of {} samples, but a step takes {}", options_.loader.batch_size, samples);
  build_training_graph(graph_, model, options_.step);
  check_data(graph_, train, options_.step.batch_size);
  // Values come after planning: a plan that does not fit the host memory is refused with its whole need.
  const auto fresh = missing_persistent(graph_, host);
  options_.session.slot_prefix = prefix + "train/";
  options_.session.stop = options_.stop;
  training_ = std::make_unique<Session>(graph_, device, host, kernels, options_.session);
  initialize_persistent(fresh, host, options_.loader.seed);
  std::int64_t arena = training_->program().arena_bytes;
  if (test) {
    evaluation_parts_ = build_evaluation_graph(evaluation_graph_, model, options_.step);
    check_data(evaluation_graph_, *test, options_.step.batch_size);
    SessionOptions eval = options_.session;
    eval.slot_prefix = prefix + "eval/";
    eval.plan_file.clear();
    eval.op_profiles.reset();
    eval.trace_iterations = 0;
    eval.make_plan = nullptr;
    if (training_->captured_prediction()) eval.launch_costs = training_->launch_costs();
    // Evaluation has little to swap: no search for it.
    eval.planner = options_.session.planner == "none" ? "" : "belady";
    eval.device_spec = training_->device_spec();
    eval.memory_limit = SizeLimit{training_->bytes_limit()};
    evaluation_ = std::make_unique<Session>(evaluation_graph_, device, host, kernels, eval);
    arena = std::max(arena, evaluation_->program().arena_bytes);
  }
  device.arena(arena);
  steps_per_epoch_ = BatchAssembler(train, options_.loader).steps_per_epoch();
}

Trainer::Trainer(const Model& model, const Dataset& train, const Dataset* test, Runtime& runtime, TrainerOptions options)
    : Trainer(model, train, test, (runtime.activate(nullptr), runtime.device()), runtime.host(), runtime.kernels(),
              [&] {
                options.session.slot_prefix = runtime.next_slot_prefix();
                return std::move(options);
              }()) {
  training_->join(runtime);
  if (evaluation_) evaluation_->join(runtime);
}

Session::Inputs Trainer::inputs(const Graph& graph, const Batch& batch) const {
  Session::Inputs inputs = batch_inputs(graph, batch);
  scalars_.add_to(inputs, graph);
  return inputs;
}

void Trainer::submit(const Batch& batch) {
  scalars_ = {options_.step.optimizer, batch.step, options_.learning_rate(batch.step)};
  training_->submit(inputs(graph_, batch));
  pending_.push_back({.step = batch.step,
                      .epoch = batch.epoch,
                      .samples = batch.valid,
                      .learning_rate = scalars_.learning_rate()});
}

void Trainer::take_step(TrainReport& report) {
  const IterationResult result = training_->take();
  StepMetrics metrics = pending_.front();
  pending_.erase(pending_.begin());
  metrics.loss = read_loss(result, graph_);
  if (!std::isfinite(metrics.loss)) explain_non_finite(metrics.step);
  metrics.correct = sum_of_outputs(result, graph_, names::correct).value_or(0);
  if (graph_.find_buffer(names::gradient_norm) >= 0)
    metrics.gradient_norm = scalar_output<double>(result, graph_, names::gradient_norm);
  metrics.rows = read_rows(result, graph_, metrics.samples);
  if (previous_end_ >= 0) metrics.iteration_seconds = result.compute_end_seconds - previous_end_;
  previous_end_ = result.compute_end_seconds;
  if (metrics.iteration_seconds > 0) iteration_seconds_.push_back(metrics.iteration_seconds);
  report.final_loss = metrics.loss;
  report.steps = steps_done_ = metrics.step + 1;
  if (options_.on_step) options_.on_step(metrics);
}

void Trainer::explain_non_finite(std::int64_t step) {
  // Later steps in flight changed nothing: the flag is sticky.
  while (training_->executor().in_flight() > 0) training_->take();
  training_->drain();
  const auto flag = host_.find(names::finite);
  const std::int32_t finite = 1;
  std::memcpy(flag.data(), &finite, sizeof finite);
  Batch batch;
  BatchAssembler(train_, options_.loader).assemble(step, batch);
  scalars_ = {options_.step.optimizer, step, options_.learning_rate(step)};
  std::string culprit;
  // Values are looked at in host memory: a GPU's own is out of reach.
  std::unique_ptr<HostMemory> values;
  Stream& out = device_.stream(StreamKind::out);
  training_->inspect(inputs(graph_, batch), [&](std::int32_t op, const KernelArgs& args) {
    const Node& node = graph_.nodes()[static_cast<std::size_t>(op)];
    const auto specs = graph_.output_specs(node);
    for (std::size_t i = 0; culprit.empty() && i < specs.size(); ++i) {
      const std::int64_t bytes = specs[i].bytes();
      if (!values || values->bytes() < bytes) values = device_.host_alloc(bytes);
      out.copy(values->data(), args.outputs[i], bytes);
      out.synchronize();
      if (!all_finite(specs[i], values->data()))
        culprit = fmt::format("[{} {}] output {}", node.op->type(), node.name, i);
    }
  });
  training_->drain();
  std::memcpy(flag.data(), &finite, sizeof finite);
  fail("step {}: the loss is not finite; the first value that is not is {}; parameters are as before that step", step,
       culprit);
}

void Trainer::end_epoch(std::int64_t epoch, TrainReport& report) {
  if (!test_) return;
  report.test = evaluate();
  if (options_.on_epoch) options_.on_epoch(epoch, *report.test);
  previous_end_ = -1;  // what lies between is not an iteration
}

bool Trainer::is_checkpoint(std::int64_t steps) const {
  if (!options_.on_checkpoint) return false;
  return steps % (options_.checkpoint_every > 0 ? options_.checkpoint_every : steps_per_epoch_) == 0;
}

void Trainer::checkpoint(const TrainReport& report) {
  training_->drain();
  options_.on_checkpoint(report.steps, report.final_loss);
  steps_saved_ = report.steps;
  previous_end_ = -1;
}

TrainReport Trainer::run() {
  using Clock = std::chrono::steady_clock;
  TrainReport report;
  report.steps = steps_done_ = steps_saved_ = options_.done_steps;
  report.final_loss = options_.done_loss;
  Loader loader(train_, options_.loader, options_.done_steps, options_.steps);
  Batch batch;
  std::int64_t samples = 0;
  auto begin = Clock::now();
  const auto pause = [&] {
    while (!pending_.empty()) take_step(report);
    report.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  };
  while (!options_.stop.stop_requested() && loader.next(batch)) {
    if (training_->executor().in_flight() == 2) take_step(report);
    submit(batch);
    samples += batch.valid;
    const std::int64_t steps = batch.step + 1;
    const bool epoch_ends = steps % steps_per_epoch_ == 0 || steps == options_.steps;
    if (!epoch_ends && !is_checkpoint(steps)) continue;
    pause();
    if (epoch_ends) end_epoch(batch.epoch, report);
    if (is_checkpoint(steps)) checkpoint(report);
    begin = Clock::now();
  }
  pause();
  training_->drain();
  if (options_.on_checkpoint && report.steps != steps_saved_) checkpoint(report);
  if (test_ && !report.test && report.steps == options_.steps)
    report.test = evaluate();  // all was done before
  if (iteration_seconds_.size() > 4)
    iteration_seconds_.erase(iteration_seconds_.begin(), iteration_seconds_.begin() + 2);
  if (!iteration_seconds_.empty()) {
    const auto middle = iteration_seconds_.begin() + std::ssize(iteration_seconds_) / 2;
    std::nth_element(iteration_seconds_.begin(), middle, iteration_seconds_.end());
    report.iteration_seconds = *middle;
    report.efficiency_measured = training_->program().predicted.ideal_seconds / *middle;
  }
  report.steps_taken = report.steps - options_.done_steps;
  report.interrupted = report.steps < options_.steps;
  if (iteration_seconds_.empty() && report.steps_taken > 0) {
    report.iteration_seconds = report.seconds / static_cast<double>(report.steps_taken);
    report.efficiency_measured = training_->program().predicted.ideal_seconds / report.iteration_seconds;
  }
  if (report.seconds > 0) report.samples_per_second = static_cast<double>(samples) / report.seconds;
  report.parameters_hash = parameters_hash(graph_, host_);
  return report;
}

Evaluation Trainer::evaluate() {
  if (!evaluation_) fail("there is no test set to evaluate '{}' on", graph_.name());
  training_->drain();
  std::optional<AveragedParameters> averaged;
  if (steps_done_ > 0) averaged.emplace(graph_, host_);
  return swapadvisor::evaluate(*evaluation_, *test_, options_.step.batch_size, evaluation_parts_);
}

Session::Inputs batch_inputs(const Graph& graph, const Batch& batch) {
  Session::Inputs inputs;
  for (const BatchArray& array : batch.arrays) {
    const std::string& name = array.field.name;
    if (graph.find_buffer(name) >= 0) inputs.emplace(name, array.bytes);
    std::span<const std::byte> rest = array.bytes;
    for (int k = 0;; ++k) {
      const int buffer = graph.find_buffer(micro_name(k, name));
      if (buffer < 0) break;
      const auto bytes =
          static_cast<std::size_t>(graph.buffers()[static_cast<std::size_t>(buffer)].spec.bytes());
      SWAPADVISOR_ASSERT(bytes <= rest.size(), "a batch with too few of '{}' for micro-batch {}", name, k);
      inputs.emplace(micro_name(k, name), rest.first(bytes));
      rest = rest.subspan(bytes);
    }
  }
  return inputs;
}

void check_data(const Graph& graph, const Dataset& dataset, std::int64_t batch_size) {
  const std::vector<Field>& fields = dataset.fields();
  for (const Buffer& buffer : graph.buffers()) {
    if (buffer.kind != BufferKind::input || buffer.name.starts_with("step.")) continue;
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& f) { return f.name == without_micro(buffer.name); });
    if (field == fields.end()) fail("'{}' takes '{}', which the data do not have", graph.name(), buffer.name);
    if (field->dtype != buffer.spec.dtype || field->shape.numel() * batch_size != buffer.spec.numel())
      fail("'{}' takes '{}' as {}, but the data have {}{} in each of {} samples", graph.name(), buffer.name,
           to_string(buffer.spec), name_of(field->dtype), to_string(field->shape), batch_size);
  }
}

Evaluation evaluate(Session& session, const Dataset& dataset, std::int64_t batch_size,
                    const std::vector<LossPart>& parts) {
  check_data(session.graph(), dataset, batch_size);
  LoaderOptions options;
  options.batch_size = batch_size;
  options.last_batch = LastBatch::pad;
  options.shuffle = false;
  const std::int64_t steps = BatchAssembler(dataset, options).steps_per_epoch();
  Loader loader(dataset, options, 0, steps);
  const Graph& graph = session.graph();
  Evaluation total;
  Mean loss;
  std::vector<Mean> means(parts.size());
  std::vector<std::int64_t> valid;
  std::size_t taken = 0;
  std::int64_t correct = 0;
  const auto take = [&] {
    const IterationResult result = session.take();
    const std::int64_t samples = valid[taken++], rows = read_rows(result, graph, samples);
    total.samples += samples;
    total.rows += rows;
    loss.add(read_loss(result, graph), rows);
    correct += scalar_output<std::int64_t>(result, graph, names::correct);
    for (std::size_t i = 0; i < parts.size(); ++i)
      means[i].add(read_loss(result, graph, parts[i].loss),
                   scalar_output<std::int64_t>(result, graph, parts[i].rows));
  };
  for (Batch batch; loader.next(batch);) {
    if (session.executor().in_flight() == 2) take();
    session.submit(batch_inputs(graph, batch));
    valid.push_back(batch.valid);
  }
  while (session.executor().in_flight() > 0) take();
  session.drain();
  total.loss = parts.empty() ? loss.value() : 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    total.losses[parts[i].target] = means[i].value();
    total.loss += parts[i].weight * means[i].value();
  }
  total.accuracy = total.rows > 0 ? static_cast<double>(correct) / static_cast<double>(total.rows) : 0;
  if (const double bytes = dataset.bytes_per_label(); bytes > 0)
    total.bits_per_byte = total.loss / std::log(2.0) / bytes;
  return total;
}

}  // namespace swapadvisor
