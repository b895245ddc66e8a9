// Measuring a device: seconds of every op of a graph, link speed, and what copies cost the ops beside them.
#pragma once

#include <swapadvisor/core/device.h>
#include <swapadvisor/core/graph.h>

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

namespace swapadvisor {

/// How ops and link are measured.
struct ProfileOptions {
  int repeats = 3;  ///< timed passes over the graph, after one to warm up; each op's median counts
  /// Device bytes the measurement may use: each op's operands are in the arena together, one op at a time.
  std::int64_t memory_limit = DeviceSpec::unbounded;
  std::function<void(int done, int total)> progress;
  std::stop_token stop;  ///< when asked for, the measurement ends with an `Error`
};

/// Workspace and algorithm of every node's kernel, seconds left at 0: what planning needs when the seconds
/// come from elsewhere.
std::vector<OpProfile> workspace_profiles(const std::vector<std::unique_ptr<Kernel>>& kernels);

/// Seconds and workspace of every node, each measured alone on the compute stream with operands of ones that
/// were just written: temporaries by the compute stream (as a producer leaves them), parameters and states by
/// that of the swap-ins. Uses the device's arena; nothing else may be running.
/// Throws `Error` naming the op that does not fit into the memory limit.
std::vector<OpProfile> profile_ops(const Graph& graph, const std::vector<std::unique_ptr<Kernel>>& kernels,
                                   Device& device, const ProfileOptions& options = {});

/// Link bandwidths, copy latency and `compute_slowdown_while_copying`, measured while the compute stream runs
/// the graph's own ops: on a CPU device both share cores and memory. `profiles` as from `profile_ops`. The
/// result's `memory_bytes` is the memory limit.
DeviceSpec profile_link(const Graph& graph, const std::vector<std::unique_ptr<Kernel>>& kernels,
                        const std::vector<OpProfile>& profiles, Device& device,
                        const ProfileOptions& options = {});

}  // namespace swapadvisor
