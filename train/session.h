// A graph made ready to run under a memory limit: kernels prepared, ops profiled, planned, and an executor
// over it.
#pragma once

#include <swapadvisor/core/executor.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/swap/launch_costs.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/profile.h>
#include <swapadvisor/train/inputs.h>
#include <swapadvisor/train/runtime.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace swapadvisor {

/// How a graph is to be planned and run.
struct SessionOptions {
  /// Empty: `none` when everything fits, else `default_planner`.
  std::string planner{};
  /// A plan file to run instead of planning; it must fit the graph by structure.
  std::string plan_file{};
  /// Device bytes; a percentage counts from the arena of planner `none`. Absent: the device's free memory.
  std::optional<SizeLimit> memory_limit{};
  std::uint64_t seed = 1;  ///< of random ops, and of first values where the session makes them
  std::uint64_t planner_seed = 1;
  double search_seconds = 0;
  std::int64_t search_evaluations = 0;
  int search_threads = 1;
  /// Measured seconds and link from elsewhere; absent: measured now.
  std::optional<std::vector<OpProfile>> op_profiles{};
  std::optional<DeviceSpec> device_spec{};
  std::string slot_prefix{};          ///< of this graph's own host slots
  std::int64_t trace_iterations = 0;  ///< see `ExecutorOptions`
  int profile_repeats = 3;
  std::function<void(int done, int total)> profile_progress{};
  std::stop_token stop{};  ///< ends measuring with an `Error`, a search with what it has
  std::function<void(const PlanProgress&)> plan_progress{};
  /// Gets the plan from the planner; absent: `planner.plan(request)`. A place for a `PlanCache`, or for
  /// another way to stop the search than `stop`. What it returns must be a valid plan for the request's graph
  /// and limits.
  std::function<Program(const Planner& planner, const PlanRequest& request)> make_plan{};
  /// Iterations captured and launched whole (CUDA graphs), from the second on, where the simulator says that
  /// this is faster. `Error` on a device that cannot.
  bool capture = false;
  std::optional<LaunchCosts> launch_costs{};  ///< absent: measured now, if needed
  /// Told in one sentence why iterations cannot be captured after all. May be empty.
  std::function<void(const std::string&)> on_no_capture{};
};

/// The planner when none is named and not everything fits.
inline constexpr const char* default_planner = "joint";

/// A scalar that an iteration left in output `name`. The output must hold one element of T.
template <class T>
T scalar_output(const IterationResult& result, const Graph& graph, const std::string& name) {
  const int buffer = graph.find_buffer(name);
  SWAPADVISOR_ASSERT(buffer >= 0, "there is no output '{}'", name);
  const auto& bytes = result.outputs[static_cast<std::size_t>(buffer)];
  SWAPADVISOR_ASSERT(bytes.size() == sizeof(T), "output '{}' has {} bytes", name, bytes.size());
  T value;
  std::copy_n(bytes.data(), sizeof(T), reinterpret_cast<std::byte*>(&value));
  return value;
}

/// Persistent buffers of `graph` that the host store does not have yet.
std::vector<const Buffer*> missing_persistent(const Graph& graph, HostStore& host);

/// Slot and first value for each.
void initialize_persistent(const std::vector<const Buffer*>& buffers, HostStore& host, std::uint64_t seed);

/// Gives every persistent buffer of `graph` that is not yet in the host store its slot and its first value.
void initialize_persistent(const Graph& graph, HostStore& host, std::uint64_t seed);

/// Runs a graph, iteration by iteration: training, evaluation or inference, whatever the graph is for. Not
/// thread-safe.
///
/// The simple way: make it on a `Runtime`, call `step` with the inputs, `read` what you want to see.
/// To overlap iterations, `submit` the next one before you `take` the last one (at most two may be in
/// flight). Without a `Runtime`, several sessions may share device and host store by turns: `drain` one
/// before using another.
class Session {
 public:
  /// Prepares, profiles and plans; parameters and states that the runtime does not have yet get their first
  /// values, from `options.seed`. `graph` and `runtime` must outlive the session; mark outputs
  /// (`Graph::output`) before. Throws `Error` when an op has no kernel, the graph does not fit the limits, or
  /// the plan file is for another graph.
  Session(const Graph& graph, Runtime& runtime, SessionOptions options = {});

  /// Prepares, profiles and plans. `graph`, `device` and `host` must outlive the session. Throws `Error` when
  /// an op has no kernel, the graph does not fit the limits, or the plan file is for another graph.
  Session(const Graph& graph, Device& device, HostStore& host, const KernelSet& kernels,
          SessionOptions options);
  /// On a runtime: writes what is on the device back, so that no step is lost.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs one iteration. Each input needs the type and bytes of its buffer; `step.number` may be left out,
  /// then it counts the calls from 0. Throws `Error` for an input that is unknown, missing or does not fit,
  /// and rethrows what a kernel throws. No iteration may be in flight.
  void step(const Inputs& inputs);
  /// The elements, in row-major order, of an output as the last `step` left it, or of a parameter or state as
  /// it is now. Throws `Error` when T is not the element type, when nothing of that name can be read, and for
  /// an output before the first step. Temporaries are not kept: make them outputs.
  template <class T>
  std::vector<T> read(const std::string& name) {
    std::vector<T> values(elements(name, dtype_of<T>));
    copy_elements(name, std::as_writable_bytes(std::span(values)));
    return values;
  }

  /// Gives a parameter or state the value. Throws `Error` when type or size do not fit, or nothing of that
  /// name is there.
  void write(const std::string& name, const InputValue& value);

  /// Writes the model's parameters and states, as they are now, to a safetensors file, atomically.
  void save_weights(const std::string& file);
  /// Reads parameters and states from a safetensors file; `path`: only those in that scope. See
  /// `load_weights`.
  void load_weights(const std::string& file, std::string_view path = {});

  const Graph& graph() const { return graph_; }
  /// The plan, with what it was predicted to take.
  const Program& program() const { return program_; }
  const std::vector<OpProfile>& op_profiles() const { return profiles_; }
  const DeviceSpec& device_spec() const { return spec_; }
  /// Both ways to run an iteration, as simulated; absent unless `SessionOptions::capture`.
  const std::optional<CapturedPrediction>& captured_prediction() const { return captured_; }
  const LaunchCosts& launch_costs() const { return launch_costs_; }  ///< when `captured_prediction` is there
  std::int64_t bytes_needed() const { return bytes_needed_; }        ///< arena of planner `none`
  std::int64_t bytes_limit() const { return spec_.memory_bytes; }
  Executor& executor() { return *executor_; }

  using Inputs = swapadvisor::Inputs;
  /// Queues one iteration, with inputs as for `step`, of which none may be left out.
  void submit(const Inputs& inputs);
  /// Waits for the oldest iteration not taken yet.
  IterationResult take() { return executor_->take(); }
  /// Submit and take.
  IterationResult run(const Inputs& inputs);
  /// See `Executor::inspect`.
  IterationResult inspect(const Inputs& inputs, const OpVisitor& visit);
  /// Waits for everything and writes parameters and states back to the host store.
  void drain() { executor_->drain(); }

 private:
  Session(const Graph& graph, Runtime& runtime, SessionOptions options, std::vector<const Buffer*> fresh);
  friend class Trainer;
  /// Takes turns with the sessions of `runtime`, whose device and host store it uses.
  void join(Runtime& runtime) { runtime_ = &runtime; }
  void activate();
  void settle();
  std::size_t elements(const std::string& name, DType dtype) const;
  void copy_elements(const std::string& name, std::span<std::byte> values);
  void load_plan();
  void measure();
  void plan();
  void choose_schedule();
  std::vector<InputData> resolve(const Inputs& inputs) const;

  const Graph& graph_;
  Device& device_;
  HostStore& host_;
  SessionOptions options_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<OpProfile> profiles_;
  DeviceSpec spec_;
  PlanGraph plan_graph_;
  std::int64_t bytes_needed_ = 0;
  Program program_;
  std::optional<CapturedPrediction> captured_;
  LaunchCosts launch_costs_;
  std::unique_ptr<Executor> executor_;
  Runtime* runtime_ = nullptr;
  IterationResult last_;    ///< of `step`
  std::int64_t steps_ = 0;  ///< calls of `step`
};

}  // namespace swapadvisor
