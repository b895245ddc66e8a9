#include <swapadvisor/core/rng.h>
#include <swapadvisor/train/trainer.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

namespace swapadvisor {
namespace {

template <class T>
std::span<const std::byte> bytes_of_vector(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

double read_loss(const IterationResult& result, const Graph& graph) {
  const int buffer = graph.find_buffer(names::loss);
  if (graph.buffers()[static_cast<std::size_t>(buffer)].spec.dtype == DType::f64)
    return scalar_output<double>(result, graph, names::loss);
  return scalar_output<float>(result, graph, names::loss);
}

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

Trainer::Trainer(const Model& model, const Dataset& train, const Dataset* test, Device& device, HostStore& host,
                 const KernelSet& kernels, TrainerOptions options)
    : train_(train),
      test_(test),
      host_(host),
      options_(std::move(options)),
      graph_(model.info.name),
      evaluation_graph_(model.info.name + "-eval") {
  if (!options_.learning_rate)
    options_.learning_rate = [rate = options_.step.optimizer.default_learning_rate()](std::int64_t) { return rate; };
  const std::string prefix = options_.session.slot_prefix;
  build_training_graph(graph_, model, options_.step);
  // Values come after planning: a plan that does not fit the host memory is refused with its whole need.
  const auto fresh = missing_persistent(graph_, host);
  options_.session.slot_prefix = prefix + "train/";
  options_.session.stop = options_.stop;
  training_ = std::make_unique<Session>(graph_, device, host, kernels, options_.session);
  initialize_persistent(fresh, host, options_.loader.seed);
  std::int64_t arena = training_->program().arena_bytes;
  if (test) {
    build_evaluation_graph(evaluation_graph_, model, options_.step);
    SessionOptions eval = options_.session;
    eval.slot_prefix = prefix + "eval/";
    eval.plan_file.clear();
    eval.op_profiles.reset();
    eval.trace_iterations = 0;
    eval.make_plan = nullptr;
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

Session::Inputs Trainer::inputs(const Graph& graph, const Batch& batch) {
  Session::Inputs inputs{{names::input, bytes_of_vector(batch.images)}, {names::target, bytes_of_vector(batch.labels)}};
  scalars_.add_to(inputs, graph);
  return inputs;
}

void Trainer::submit(const Batch& batch) {
  scalars_ = {options_.step.optimizer, batch.step, options_.learning_rate(batch.step)};
  training_->submit(inputs(graph_, batch));
  pending_.push_back({batch.step, batch.epoch, 0, 0, batch.valid, scalars_.learning_rate(), 0});
}

void Trainer::take_step(TrainReport& report) {
  const IterationResult result = training_->take();
  StepMetrics metrics = pending_.front();
  pending_.erase(pending_.begin());
  metrics.loss = read_loss(result, graph_);
  if (!std::isfinite(metrics.loss)) explain_non_finite(metrics.step);
  metrics.correct = scalar_output<std::int64_t>(result, graph_, names::correct);
  if (previous_end_ >= 0) metrics.iteration_seconds = result.compute_end_seconds - previous_end_;
  previous_end_ = result.compute_end_seconds;
  if (metrics.iteration_seconds > 0) iteration_seconds_.push_back(metrics.iteration_seconds);
  report.final_loss = metrics.loss;
  report.steps = metrics.step + 1;
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
  training_->inspect(inputs(graph_, batch), [&](std::int32_t op, const KernelArgs& args) {
    const Node& node = graph_.nodes()[static_cast<std::size_t>(op)];
    const auto specs = graph_.output_specs(node);
    for (std::size_t i = 0; culprit.empty() && i < specs.size(); ++i)
      if (!all_finite(specs[i], args.outputs[i]))
        culprit = fmt::format("[{} {}] output {}", node.op->type(), node.name, i);
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

TrainReport Trainer::run() {
  using Clock = std::chrono::steady_clock;
  TrainReport report;
  Loader loader(train_, options_.loader, 0, options_.steps);
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
    if ((batch.step + 1) % steps_per_epoch_ != 0 && batch.step + 1 != options_.steps) continue;
    pause();
    end_epoch(batch.epoch, report);
    begin = Clock::now();
  }
  pause();
  training_->drain();
  if (iteration_seconds_.size() > 4) iteration_seconds_.erase(iteration_seconds_.begin(), iteration_seconds_.begin() + 2);
  if (!iteration_seconds_.empty()) {
    const auto middle = iteration_seconds_.begin() + std::ssize(iteration_seconds_) / 2;
    std::nth_element(iteration_seconds_.begin(), middle, iteration_seconds_.end());
    report.iteration_seconds = *middle;
    report.efficiency_measured = training_->program().predicted.ideal_seconds / *middle;
  }
  if (iteration_seconds_.empty() && report.steps > 0) {
    report.iteration_seconds = report.seconds / static_cast<double>(report.steps);
    report.efficiency_measured = training_->program().predicted.ideal_seconds / report.iteration_seconds;
  }
  if (report.seconds > 0) report.samples_per_second = static_cast<double>(samples) / report.seconds;
  report.parameters_hash = parameters_hash(graph_, host_);
  return report;
}

Evaluation Trainer::evaluate() {
  if (!evaluation_) fail("there is no test set to evaluate '{}' on", graph_.name());
  training_->drain();
  return swapadvisor::evaluate(*evaluation_, *test_, options_.loader.batch_size);
}

Evaluation evaluate(Session& session, const Dataset& dataset, std::int64_t batch_size) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.last_batch = LastBatch::pad;
  options.shuffle = false;
  const std::int64_t steps = BatchAssembler(dataset, options).steps_per_epoch();
  Loader loader(dataset, options, 0, steps);
  Evaluation total;
  std::vector<std::int64_t> valid;
  std::size_t taken = 0;
  std::int64_t correct = 0;
  const auto take = [&] {
    const IterationResult result = session.take();
    const std::int64_t rows = valid[taken++];
    total.loss += read_loss(result, session.graph()) * static_cast<double>(rows);
    correct += scalar_output<std::int64_t>(result, session.graph(), names::correct);
    total.samples += rows;
  };
  for (Batch batch; loader.next(batch);) {
    if (session.executor().in_flight() == 2) take();
    session.submit({{names::input, bytes_of_vector(batch.images)}, {names::target, bytes_of_vector(batch.labels)}});
    valid.push_back(batch.valid);
  }
  while (session.executor().in_flight() > 0) take();
  session.drain();
  total.loss /= static_cast<double>(total.samples);
  total.accuracy = static_cast<double>(correct) / static_cast<double>(total.samples);
  return total;
}

}  // namespace swapadvisor
