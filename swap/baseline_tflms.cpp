#include <swapadvisor/swap/baseline_rule.h>
#include <swapadvisor/swap/baselines.h>

#include <algorithm>
#include <array>

namespace swapadvisor {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// By step: ops on the longest path of values that leads to the op.
std::vector<std::int32_t> topological_levels(const RuleGraph& graph) {
  std::vector<std::int32_t> level(graph.order.size(), 0), of_value(graph.table.buffer_count(), -1);
  for (std::size_t step = 0; step < level.size(); ++step) {
    const auto operands = graph.table.operands(graph.order[step]);
    for (const OpTable::Operand& operand : operands)
      if (operand.read) level[step] = std::max(level[step], of_value[index(operand.buffer)] + 1);
    for (const OpTable::Operand& operand : operands)
      if (operand.write) of_value[index(operand.buffer)] = level[step];
  }
  return level;
}

/// Gaps by distance, what a threshold chooses from.
struct FarGap {
  Gap gap;
  std::int32_t distance = 0;
};

Rule swap_rule(const RuleGraph& graph, const std::vector<FarGap>& gaps, std::int32_t threshold,
               std::int32_t ahead) {
  Rule rule{graph.order, {}};
  for (const FarGap& far : gaps) {
    if (far.distance <= threshold || far.gap.use - far.gap.after <= ahead) continue;
    rule.swaps.push_back({far.gap.buffer, far.gap.after, far.gap.written, ForcedSwap::none, far.gap.use,
                          far.gap.use - ahead, ForcedSwap::none});
  }
  return rule;
}

// From "nothing is far" to "everything is", at most `count` steps.
std::vector<std::int32_t> thresholds(const std::vector<FarGap>& gaps, std::size_t count) {
  std::vector<std::int32_t> distances;
  for (const FarGap& far : gaps) distances.push_back(far.distance);
  std::sort(distances.begin(), distances.end());
  std::vector<std::int32_t> chosen{distances.empty() ? 0 : distances.back()};
  for (std::size_t k = count; k-- > 0 && !distances.empty();) {
    const std::int32_t threshold = distances[k * distances.size() / count] - 1;
    if (threshold < chosen.back()) chosen.push_back(threshold);
  }
  return chosen;
}

}  // namespace

PlannerInfo TflmsPlanner::info() const {
  return {"tflms",
          "TensorFlow Large Model Support (ISMM 2018): swaps values whose next use is topologically far",
          false};
}

Program TflmsPlanner::plan(const PlanRequest& request) const {
  constexpr std::size_t threshold_count = 8;
  constexpr std::array<std::int32_t, 4> ops_ahead = {1, 3, 10, 30};
  const RuleGraph graph(*request.graph);
  const std::vector<std::int32_t> level = topological_levels(graph);
  std::vector<FarGap> gaps;
  for (const Gap& gap : find_gaps(graph.table, graph.order))
    gaps.push_back({gap, std::max(0, level[index(gap.use)] - level[index(gap.after)])});
  std::vector<Rule> rules;
  for (const std::int32_t threshold : thresholds(gaps, threshold_count))
    for (const std::int32_t ahead : ops_ahead) {
      rules.push_back(swap_rule(graph, gaps, threshold, ahead));
      if (rules.back().swaps.empty()) break;  // the same for all
    }
  return plan_by_rules(request, name(), graph, rules);
}

}  // namespace swapadvisor
