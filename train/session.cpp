#include <swapadvisor/core/parallel.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/verify.h>
#include <swapadvisor/train/session.h>

namespace swapadvisor {

std::vector<const Buffer*> missing_persistent(const Graph& graph, HostStore& host) {
  std::vector<const Buffer*> missing;
  for (const Buffer& buffer : graph.buffers())
    if (is_persistent(buffer.kind) && host.find(buffer.name).empty()) missing.push_back(&buffer);
  return missing;
}

void initialize_persistent(const std::vector<const Buffer*>& buffers, HostStore& host, std::uint64_t seed) {
  for (const Buffer* b : buffers) initialize(host.reserve(b->name, b->spec.bytes()), b->spec, b->init, b->name, seed);
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
  executor_ = std::make_unique<Executor>(program_, bind_kernels(graph_, kernels_), device_, host_,
                                         ExecutorOptions{options_.slot_prefix, {}, options_.trace_iterations});
}

void Session::measure() {
  const ProfileOptions profile{options_.profile_repeats, spec_.memory_bytes, options_.profile_progress, options_.stop};
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
  if (!same_structure(program_.graph, plan_graph_))
    fail("{}: the plan is for another graph than '{}': names, types or bytes differ", options_.plan_file,
         graph_.name());
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
      fail("{}: the plan {}", options_.plan_file, format_need(program_.host_bytes, spec_.host_bytes, "host memory"));
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
  program_ = make_planner(planner)->plan(request);
}

std::vector<InputData> Session::resolve(const Inputs& inputs) const {
  std::vector<InputData> data;
  for (const auto& [name, bytes] : inputs) {
    const int buffer = graph_.find_buffer(name);
    if (buffer < 0) fail("graph '{}' has no input '{}'", graph_.name(), name);
    data.push_back({buffer, bytes});
  }
  return data;
}

IterationResult Session::run(const Inputs& inputs) {
  submit(inputs);
  return take();
}

}  // namespace swapadvisor
