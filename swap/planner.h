// Planners: from a graph, a device and a limit to a Program.
#pragma once

#include <swapadvisor/core/program.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// How a search is going. Called from the thread that called `plan`.
struct PlanProgress {
  double seconds = 0;
  std::int64_t evaluations = 0;
  double best_iteration_seconds = 0;
  double ideal_seconds = 0;
};

/// What planner `joint` decides together. Leaving one out shows what it is worth; other planners ignore it.
struct JointParts {
  bool order = true;           ///< other orders than the given one
  bool offsets = true;         ///< exact addresses; else `swapadvisor`'s size-class pool, with Belady's choice in a class
  bool eviction = true;        ///< weigh bytes, time and the link's load; else only the distance to the next use
  bool clean_eviction = true;  ///< evict without a swap-out what the host store holds already
  bool recompute = true;

  bool all() const { return order && offsets && eviction && clean_eviction && recompute; }
};

/// What a planner plans. The graph must have passed `check` and outlive the call.
struct PlanRequest {
  const PlanGraph* graph = nullptr;
  /// `memory_bytes` is the memory limit, `host_bytes` the host limit.
  DeviceSpec device;
  std::uint64_t seed = 1;
  double search_seconds = 0;            ///< a search's budget by the clock; 0: none
  std::int64_t search_evaluations = 0;  ///< a search's exact budget; 0: none
  int threads = 1;                      ///< changes no answer
  JointParts parts;
  std::stop_token stop;
  std::function<void(const PlanProgress&)> progress;
};

/// Name and kind of a planner.
struct PlannerInfo {
  std::string name;
  std::string summary;
  bool searches = false;
  /// Raised whenever a planner that searches, or anything it is made of, may give another plan for the same
  /// request: plans that were stored by another version (`PlanCache`) are not used again.
  int version = 1;
};

/// A pure function of the request: same request, same Program, whatever the thread count (a budget in seconds
/// aside). Safe to call from several threads at once.
class Planner {
 public:
  virtual ~Planner() = default;
  virtual PlannerInfo info() const = 0;
  std::string name() const { return info().name; }
  std::string summary() const { return info().summary; }
  /// A complete Program: waits, sizes and prediction filled in, graph and device copied.
  /// Throws `Error` naming the need and the limit when the graph cannot run within the limits.
  virtual Program plan(const PlanRequest& request) const = 0;
};

/// Every planner there is, baselines first.
std::vector<PlannerInfo> planner_list();

/// Throws `Error` that lists the names when there is no planner `name`.
std::unique_ptr<Planner> make_planner(std::string_view name);

/// Arena bytes of planner `none`: what the graph needs in its own order without any swap of temporaries.
std::int64_t device_bytes_needed(const PlanGraph& graph);

}  // namespace swapadvisor
