#include <swapadvisor/swap/cost_model.h>

#include <algorithm>
#include <array>
#include <utility>

namespace swapadvisor {

std::optional<ComputeSpec> find_compute_spec(std::string_view device_name) {
  // NVIDIA data sheets: V100 PCIe/SXM2 15.7 TFLOP/s, 900 GB/s; A100 40 GB 19.5 TFLOP/s, 1555 GB/s; H200 67 TFLOP/s,
  // 4.8 TB/s. Float32 without tensor cores.
  static constexpr std::array<std::pair<std::string_view, std::pair<double, double>>, 3> known{
      {{"v100-16g", {15.7e12, 900e9}}, {"a100-40g", {19.5e12, 1555e9}}, {"h200", {67e12, 4.8e12}}}};
  for (const auto& [name, peaks] : known) {
    if (name != device_name) continue;
    ComputeSpec spec;
    spec.flops_per_second = peaks.first;
    spec.bytes_per_second = peaks.second;
    return spec;
  }
  return std::nullopt;
}

std::vector<OpProfile> model_ops(const Graph& graph, const ComputeSpec& compute) {
  std::vector<OpProfile> profiles;
  profiles.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    const Cost cost = node.op->cost(graph.input_specs(node), graph.output_specs(node));
    const double math = cost.flops / (compute.flops_per_second * compute.matrix_efficiency);
    const double memory = cost.bytes / (compute.bytes_per_second * compute.bandwidth_efficiency);
    profiles.push_back({compute.launch_seconds + std::max(math, memory), 0});
  }
  return profiles;
}

}  // namespace swapadvisor
