#include <swapadvisor/swap/baseline_rule.h>
#include <swapadvisor/swap/baselines.h>

#include <algorithm>

namespace swapadvisor {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

/// An optimizer state's uses in one iteration.
struct Update {
  std::int32_t buffer = 0;
  std::int32_t first = -1, last = -1;  ///< steps
  bool reads = false;                  ///< the first use needs the old value
};

// By first step. Running statistics are states too, but forward ops touch them.
std::vector<Update> find_updates(const RuleGraph& graph) {
  std::vector<Update> of_buffer(graph.table.buffer_count());
  for (std::size_t step = 0; step < graph.order.size(); ++step)
    for (const OpTable::Operand& operand : graph.table.operands(graph.order[step])) {
      Update& update = of_buffer[index(operand.buffer)];
      if (update.first < 0) update = {operand.buffer, static_cast<std::int32_t>(step), 0, operand.read};
      update.last = static_cast<std::int32_t>(step);
    }
  std::vector<Update> updates;
  for (const Update& update : of_buffer)
    if (update.first >= graph.turn && graph.table.kind(update.buffer) == BufferKind::state)
      updates.push_back(update);
  std::stable_sort(updates.begin(), updates.end(),
                   [](const Update& a, const Update& b) { return a.first < b.first; });
  return updates;
}

}  // namespace

PlannerInfo ZeroOffloadPlanner::info() const {
  return {
      "zero-offload",
      "after ZeRO-Offload (ATC 2021): optimizer states live in the host, in for each update, out after it",
      false};
}

Program ZeroOffloadPlanner::plan(const PlanRequest& request) const {
  const RuleGraph graph(*request.graph);
  Rule rule{graph.order, {}};
  std::int32_t previous = 0, current = ForcedSwap::none;
  for (const Update& update : find_updates(graph)) {
    if (update.first != current) {
      previous = current >= 0 ? current : std::max(0, update.first - 1);
      current = update.first;
    }
    ForcedSwap in{update.buffer};
    in.use = update.first;
    in.fetch = previous;
    if (update.reads) rule.swaps.push_back(in);
    ForcedSwap out{update.buffer, update.last, update.last};
    rule.swaps.push_back(out);
  }
  WalkPolicy policy;
  policy.fixed_fraction = 0;  // not even small states stay
  return plan_by_rules(request, name(), graph, {&rule, 1}, policy);
}

}  // namespace swapadvisor
