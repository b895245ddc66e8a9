#include <swapadvisor/swap/baseline_rule.h>
#include <swapadvisor/swap/baselines.h>

#include <algorithm>

namespace swapadvisor {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// Inputs of forward layers that the backward pass reads again: for each, the gap across the turn. Who reads
// it last before the turn offloads it.
std::vector<Gap> offloaded_inputs(const RuleGraph& graph, VdnnPlanner::Layers layers) {
  std::vector<std::uint8_t> wanted(graph.table.buffer_count(), 0);
  for (std::int32_t step = 0; step < graph.turn; ++step) {
    const std::int32_t op = graph.order[index(step)];
    if (layers == VdnnPlanner::Layers::convolution && graph.expensive[index(op)] == 0) continue;
    for (const OpTable::Operand& operand : graph.table.operands(op))
      if (operand.read) wanted[index(operand.buffer)] = 1;
  }
  std::vector<Gap> gaps;
  for (const Gap& gap : find_gaps(graph.table, graph.order))
    if (gap.after < graph.turn && gap.use >= graph.turn && gap.read_before && wanted[index(gap.buffer)] != 0)
      gaps.push_back(gap);
  return gaps;
}

Rule offload_rule(const RuleGraph& graph, std::vector<Gap> gaps) {
  Rule rule{graph.order, {}};
  const std::vector<std::int32_t> start = layer_starts(graph.table, graph.order, graph.turn);
  std::vector<std::int32_t> end(start.size(), 0);  // by first step: the last
  for (std::size_t s = 0; s < start.size(); ++s) end[index(start[s])] = static_cast<std::int32_t>(s);
  std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.use < b.use; });
  std::int32_t previous = ForcedSwap::none, layer = ForcedSwap::none;
  for (const Gap& gap : gaps) {
    if (const std::int32_t own = start[index(gap.use)]; own != layer) {
      previous = layer;
      layer = own;
    }
    ForcedSwap swap{gap.buffer, gap.after,  gap.after - 1,   gap.after + 1,
                    gap.use,    graph.turn, ForcedSwap::none};
    if (previous >= 0) {
      swap.fetch = std::min(previous, gap.use);
      swap.in_by = std::min(end[index(previous)] + 1, gap.use);
    }
    rule.swaps.push_back(swap);
  }
  return rule;
}

}  // namespace

PlannerInfo VdnnPlanner::info() const {
  if (layers_ == Layers::convolution)
    return {"vdnn-conv",
            "vDNN (MICRO 2016): inputs of convolution-like layers are offloaded, prefetched one layer ahead",
            false};
  return {"vdnn-all", "vDNN (MICRO 2016): inputs of all layers are offloaded, prefetched one layer ahead",
          false};
}

Program VdnnPlanner::plan(const PlanRequest& request) const {
  const RuleGraph graph(*request.graph);
  const Rule rule = offload_rule(graph, offloaded_inputs(graph, layers_));
  return plan_by_rules(request, name(), graph, {&rule, 1});
}

}  // namespace swapadvisor
