#include <swapadvisor/core/parallel.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/verify.h>
#include <swapadvisor/train/session.h>
#include <swapadvisor/train/weights.h>

#include <cstring>

namespace swapadvisor {

namespace {

/// Elements of a dense tensor of any layout, in row-major order.
void copy_row_major(const TensorSpec& spec, std::span<const std::byte> from, std::span<std::byte> to) {
  if (spec.is_row_major()) {
    std::copy(from.begin(), from.end(), to.begin());
    return;
  }
  const auto size = static_cast<std::size_t>(size_of(spec.dtype));
  const std::int64_t count = spec.numel();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = 0;
    for (int d = spec.rank() - 1; d >= 0; --d) {
      at += rest % spec.shape[d] * spec.strides[d];
      rest /= spec.shape[d];
    }
    std::memcpy(to.data() + static_cast<std::size_t>(i) * size,
                from.data() + static_cast<std::size_t>(at) * size, size);
  }
}

}  // namespace

std::vector<const Buffer*> missing_persistent(const Graph& graph, HostStore& host) {
  std::vector<const Buffer*> missing;
  for (const Buffer& buffer : graph.buffers())
    if (is_persistent(buffer.kind) && host.find(buffer.name).empty()) missing.push_back(&buffer);
  return missing;
}

void initialize_persistent(const std::vector<const Buffer*>& buffers, HostStore& host, std::uint64_t seed) {
  for (const Buffer* b : buffers)
    initialize(host.reserve(b->name, b->spec.bytes()), b->spec, b->init, b->name, seed);
}

void initialize_persistent(const Graph& graph, HostStore& host, std::uint64_t seed) {
  initialize_persistent(missing_persistent(graph, host), host, seed);
}

Session::Session(const Graph& graph, Device& device, HostStore& host, const KernelSet& kernels,
                 SessionOptions options)
    : graph_(graph), device_(device), host_(host), options_(std::move(options)) {
  const KernelContext context{device.threads(), options_.seed};
  set_thread_count(context.threads);
  kernels_ = prepare_kernels(graph, kernels, context);
  // The limit may be a share of what the graph needs, which depends on bytes and workspaces only.
  plan_graph_ = lower(graph, workspace_profiles(kernels_));
  check(plan_graph_);
  bytes_needed_ = device_bytes_needed(plan_graph_);
  spec_.memory_bytes =
      options_.memory_limit ? options_.memory_limit->resolve(bytes_needed_) : device.free_bytes();
  if (!options_.plan_file.empty()) load_plan();  // before the time that measuring takes
  measure();
  plan();
  ExecutorOptions executor{options_.slot_prefix, {}, options_.trace_iterations};
  if (options_.capture) {
    executor.on_no_capture = [this, streams = program_.predicted](const std::string& reason) {
      program_.predicted = streams;
      if (options_.on_no_capture) options_.on_no_capture(reason);
    };
    choose_schedule();
    if (captured_->faster()) executor.capture_from = 1;
  }
  executor_ = std::make_unique<Executor>(program_, bind_kernels(graph_, kernels_), device_, host_,
                                         std::move(executor));
}

Session::Session(const Graph& graph, Runtime& runtime, SessionOptions options)
    : Session(graph, runtime, std::move(options), missing_persistent(graph, runtime.host())) {}

Session::Session(const Graph& graph, Runtime& runtime, SessionOptions options,
                 std::vector<const Buffer*> fresh)
    // Measuring uses the device's memory, so no other session may have data there.
    : Session(graph, (runtime.activate(nullptr), runtime.device()), runtime.host(), runtime.kernels(), [&] {
        if (options.slot_prefix.empty()) options.slot_prefix = runtime.next_slot_prefix();
        return options;
      }()) {
  join(runtime);
  // Values come after planning: a plan that does not fit the host memory is refused with its whole need.
  initialize_persistent(fresh, runtime.host(), options_.seed);
}

Session::~Session() {
  if (!runtime_) return;
  try {
    executor_->drain();
  } catch (...) {  // a kernel's error that `take` reported already, or would have
  }
  runtime_->forget(this);
}

void Session::activate() {
  if (runtime_) runtime_->activate(this);
}

void Session::measure() {
  const ProfileOptions profile{options_.profile_repeats, spec_.memory_bytes, options_.profile_progress,
                               options_.stop};
  profiles_ = options_.op_profiles ? *options_.op_profiles : profile_ops(graph_, kernels_, device_, profile);
  SWAPADVISOR_ASSERT(profiles_.size() == kernels_.size(), "{} profiles for {} ops", profiles_.size(),
                     kernels_.size());
  const std::int64_t limit = spec_.memory_bytes;
  spec_ = options_.device_spec ? *options_.device_spec
                               : profile_link(graph_, kernels_, profiles_, device_, profile);
  spec_.memory_bytes = limit;
  // What is in the store already, such as another graph's slots, is not this graph's to use; persistent
  // buffers that both have count once.
  if (host_.limit() != DeviceSpec::unbounded) {
    std::int64_t mine = 0;
    for (const Buffer& buffer : graph_.buffers())
      if (is_persistent(buffer.kind) && !host_.find(buffer.name).empty())
        mine += round_up(buffer.spec.bytes(), page_bytes);
    spec_.host_bytes = host_.limit() - host_.bytes() + mine;
  } else {
    spec_.host_bytes = DeviceSpec::unbounded;
  }
  plan_graph_ = lower(graph_, profiles_);
}

void Session::load_plan() {
  program_ = read_plan(options_.plan_file);
  if (const std::string difference = structure_difference(plan_graph_, program_.graph); !difference.empty())
    fail("{}: the plan is for another graph than '{}': {}", options_.plan_file, graph_.name(), difference);
  if (program_.arena_bytes > spec_.memory_bytes)
    fail("{}: the plan {}", options_.plan_file,
         format_need(program_.arena_bytes, spec_.memory_bytes, "device memory"));
  Program limited = program_;
  limited.device.memory_bytes = spec_.memory_bytes;
  if (const Verdict verdict = verify(limited); !verdict.valid)
    fail("{}: the plan is not valid: {}", options_.plan_file, verdict.error);
}

void Session::plan() {
  if (!options_.plan_file.empty()) {
    program_.graph = plan_graph_;
    program_.device = spec_;
    if (program_.host_bytes > spec_.host_bytes)
      fail("{}: the plan {}", options_.plan_file,
           format_need(program_.host_bytes, spec_.host_bytes, "host memory"));
    const std::int64_t fallback = program_.predicted.fallback_bytes;
    program_.predicted = simulate(program_);
    program_.predicted.fallback_bytes = fallback;
    return;
  }
  std::string planner = options_.planner;
  if (planner.empty()) planner = bytes_needed_ <= spec_.memory_bytes ? "none" : default_planner;
  PlanRequest request;
  request.graph = &plan_graph_;
  request.device = spec_;
  request.seed = options_.planner_seed;
  request.search_seconds = options_.search_seconds;
  request.search_evaluations = options_.search_evaluations;
  request.threads = options_.search_threads;
  request.stop = options_.stop;
  request.progress = options_.plan_progress;
  const std::unique_ptr<Planner> chosen = make_planner(planner);
  program_ = options_.make_plan ? options_.make_plan(*chosen, request) : chosen->plan(request);
  SWAPADVISOR_ASSERT(same_structure(program_.graph, plan_graph_), "the plan is not for graph '{}'",
                     graph_.name());
}

void Session::choose_schedule() {
  auto* const capture = dynamic_cast<Capture*>(&device_);
  if (!capture) fail("device {} cannot capture work", device_.name());
  launch_costs_ = options_.launch_costs ? *options_.launch_costs : measure_launch_costs(device_, *capture);
  captured_ = predict_captured(program_, launch_costs_);
  if (!captured_->faster()) return;
  Prediction& p = program_.predicted;
  p.iteration_seconds = captured_->captured_seconds;
  p.efficiency = p.iteration_seconds > 0 ? p.ideal_seconds / p.iteration_seconds : 1;
}

std::vector<InputData> Session::resolve(const Inputs& inputs) const {
  std::vector<InputData> data;
  for (const auto& [name, value] : inputs) {
    const int buffer = graph_.find_buffer(name);
    if (buffer < 0) fail("graph '{}' has no input '{}'", graph_.name(), name);
    const DType expected = graph_.buffers()[static_cast<std::size_t>(buffer)].spec.dtype;
    if (value.dtype() && *value.dtype() != expected)
      fail("input '{}' is {}, got {}", name, name_of(expected), name_of(*value.dtype()));
    data.push_back({buffer, value.bytes()});
  }
  return data;
}

void Session::submit(const Inputs& inputs) {
  const std::vector<InputData> data = resolve(inputs);
  activate();
  executor_->submit(data);
}

IterationResult Session::inspect(const Inputs& inputs, const OpVisitor& visit) {
  const std::vector<InputData> data = resolve(inputs);
  activate();
  return executor_->inspect(data, visit);
}

IterationResult Session::run(const Inputs& inputs) {
  submit(inputs);
  return take();
}

void Session::step(const Inputs& inputs) {
  if (executor_->in_flight() > 0)
    fail("step: {} submitted iterations are not taken yet", executor_->in_flight());
  Inputs all = inputs;
  if (graph_.find_buffer("step.number") >= 0) all.try_emplace("step.number", steps_);
  last_ = run(all);
  ++steps_;
}

std::size_t Session::elements(const std::string& name, DType dtype) const {
  const int id = graph_.find_buffer(name);
  if (id < 0) fail("graph '{}' has nothing named '{}'", graph_.name(), name);
  const Buffer& buffer = graph_.buffers()[static_cast<std::size_t>(id)];
  // As planned: the graph may have got more outputs since.
  const bool planned = static_cast<std::size_t>(id) < plan_graph_.buffers.size();
  const BufferKind kind =
      planned ? plan_graph_.buffers[static_cast<std::size_t>(id)].kind : BufferKind::temporary;
  if (kind != BufferKind::output && !is_persistent(kind))
    fail("'{}' is not kept: make it an output of graph '{}' before the session", name, graph_.name());
  if (kind == BufferKind::output && last_.outputs.empty())
    fail("output '{}' has no value before the first step", name);
  if (buffer.spec.dtype != dtype)
    fail("'{}' is {}, not {}", name, name_of(buffer.spec.dtype), name_of(dtype));
  return static_cast<std::size_t>(buffer.spec.numel());
}

void Session::copy_elements(const std::string& name, std::span<std::byte> values) {
  const auto id = static_cast<std::size_t>(graph_.find_buffer(name));
  const Buffer& buffer = graph_.buffers()[id];
  if (is_persistent(buffer.kind)) settle();
  const std::span<const std::byte> stored =
      is_persistent(buffer.kind) ? host_.find(name) : std::span<const std::byte>(last_.outputs[id]);
  SWAPADVISOR_ASSERT(stored.size() == values.size(), "'{}' has {} bytes, not {}", name, stored.size(),
                     values.size());
  copy_row_major(buffer.spec, stored, values);
}

void Session::settle() {
  if (runtime_) runtime_->activate(nullptr);  // another session may have changed what this one reads
  drain();
}

void Session::write(const std::string& name, const InputValue& value) {
  const int id = graph_.find_buffer(name);
  if (id < 0 || !is_persistent(graph_.buffers()[static_cast<std::size_t>(id)].kind))
    fail("graph '{}' has no parameter or state '{}'", graph_.name(), name);
  const TensorSpec& spec = graph_.buffers()[static_cast<std::size_t>(id)].spec;
  const std::span<const std::byte> bytes = value.bytes();
  if ((value.dtype() && *value.dtype() != spec.dtype) ||
      static_cast<std::int64_t>(bytes.size()) != spec.bytes())
    fail("'{}' is {}, got {} bytes of {}", name, to_string(spec), bytes.size(),
         value.dtype() ? name_of(*value.dtype()) : "unknown type");
  settle();
  std::copy(bytes.begin(), bytes.end(), host_.find(name).begin());
}

void Session::save_weights(const std::string& file) {
  settle();
  swapadvisor::save_weights(file, graph_, host_);
}

void Session::load_weights(const std::string& file, std::string_view path) {
  settle();
  swapadvisor::load_weights(file, graph_, host_, path);
}

}  // namespace swapadvisor
