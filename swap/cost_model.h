// Seconds of ops on a device that is not here: a roofline from FLOPs and bytes (Williams et al., CACM 2009).
#pragma once

#include <swapadvisor/core/graph.h>

#include <optional>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// What limits ops on a device. The efficiencies are what well-tuned libraries reach of the peaks.
struct ComputeSpec {
  double flops_per_second = 0;  ///< float32 peak
  double bytes_per_second = 0;  ///< device memory peak
  double matrix_efficiency = 0.7;    ///< convolutions, matrix products
  double bandwidth_efficiency = 0.8;
  double launch_seconds = 5e-6;  ///< least time of any op
};

/// Peaks of the named devices (vendors' data sheets); nothing for other names.
std::optional<ComputeSpec> find_compute_spec(std::string_view device_name);

/// Seconds of each node: launch + max(FLOPs ÷ compute rate, bytes ÷ memory rate). Workspaces are 0.
std::vector<OpProfile> model_ops(const Graph& graph, const ComputeSpec& compute);

}  // namespace swapadvisor
