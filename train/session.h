// A graph made ready to run under a memory limit: kernels prepared, ops profiled, planned, and an executor
// over it.
#pragma once

#include <swapadvisor/core/executor.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/profile.h>

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
  std::string planner;
  /// A plan file to run instead of planning; it must fit the graph by structure.
  std::string plan_file;
  /// Device bytes; a percentage counts from the arena of planner `none`. Absent: the device's free memory.
  std::optional<SizeLimit> memory_limit;
  std::uint64_t seed = 1;  ///< of random ops
  std::uint64_t planner_seed = 1;
  double search_seconds = 0;
  std::int64_t search_evaluations = 0;
  int search_threads = 1;
  /// Measured seconds and link from elsewhere; absent: measured now.
  std::optional<std::vector<OpProfile>> op_profiles;
  std::optional<DeviceSpec> device_spec;
  std::string slot_prefix;  ///< of this graph's own host slots
  std::int64_t trace_iterations = 0;  ///< see `ExecutorOptions`
  int profile_repeats = 3;
  std::function<void(int done, int total)> profile_progress;
  std::stop_token stop;  ///< ends measuring with an `Error`, a search with what it has
  std::function<void(const PlanProgress&)> plan_progress;
};

inline constexpr const char* default_planner = "belady";

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

/// Not thread-safe. Several sessions may share device and host store by turns: `drain` one before using
/// another.
class Session {
 public:
  /// Prepares, profiles and plans. `graph`, `device` and `host` must outlive the session. Throws `Error` when
  /// an op has no kernel, the graph does not fit the limits, or the plan file is for another graph.
  Session(const Graph& graph, Device& device, HostStore& host, const KernelSet& kernels,
          SessionOptions options);

  const Graph& graph() const { return graph_; }
  const Program& program() const { return program_; }
  const std::vector<OpProfile>& op_profiles() const { return profiles_; }
  const DeviceSpec& device_spec() const { return spec_; }
  std::int64_t bytes_needed() const { return bytes_needed_; }  ///< arena of planner `none`
  std::int64_t bytes_limit() const { return spec_.memory_bytes; }
  Executor& executor() { return *executor_; }

  /// Inputs by name; each needs the bytes of its buffer. Throws `Error` for an unknown name or a wrong size.
  using Inputs = std::map<std::string, std::span<const std::byte>>;
  void submit(const Inputs& inputs) { executor_->submit(resolve(inputs)); }
  IterationResult take() { return executor_->take(); }
  /// Submit and take.
  IterationResult run(const Inputs& inputs);
  IterationResult inspect(const Inputs& inputs, const OpVisitor& visit) {
    return executor_->inspect(resolve(inputs), visit);
  }
  void drain() { executor_->drain(); }

 private:
  void load_plan();
  void measure();
  void plan();
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
  std::unique_ptr<Executor> executor_;
};

}  // namespace swapadvisor
