#include <swapadvisor/swap/baseline_rule.h>
#include <swapadvisor/swap/baselines.h>

#include <algorithm>

namespace swapadvisor {
namespace {

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

// Cheap forward ops run again, but for those whose outputs are read by cheap ops of a later segment (a residual
// connection): a segment, which is what lies between two convolution-like ops, is made again from checkpoints alone.
std::vector<std::uint8_t> cheap_again(const RuleGraph& graph) {
  std::vector<std::uint8_t> again(graph.table.op_count(), 0);
  std::vector<std::int32_t> segment(index(graph.turn), 0);
  std::int32_t current = 0;
  for (std::int32_t step = 0; step < graph.turn; ++step) {
    const std::int32_t op = graph.order[index(step)];
    if (graph.expensive[index(op)] != 0) ++current;
    segment[index(step)] = current;
    again[index(op)] = graph.expensive[index(op)] == 0 && graph.recompute.eligible(op) ? 1 : 0;
  }
  std::vector<std::uint8_t> cheap = again;
  std::vector<std::int32_t> written(graph.table.buffer_count(), -1);
  for (std::int32_t step = 0; step < graph.turn; ++step) {
    const std::int32_t op = graph.order[index(step)];
    for (const OpTable::Operand& operand : graph.table.operands(op)) {
      std::int32_t& writer = written[index(operand.buffer)];
      if (operand.read && cheap[index(op)] != 0 && writer >= 0 && segment[index(writer)] != segment[index(step)])
        again[index(graph.order[index(writer)])] = 0;
      if (operand.write) writer = step;
    }
  }
  return again;
}

// Checkpoints: what the backward pass needs and cheap recomputing does not give back. Those that convolution-like ops or
// residual connections made are offloaded.
Rule make_rule(const RuleGraph& graph) {
  const std::vector<std::uint8_t> again = cheap_again(graph);
  Rule rule;
  run_sequence(graph.table, graph.order, graph.turn, again, rule.runs);
  const std::vector<std::int32_t> start = layer_starts(graph.table, rule.runs, graph.turn);
  std::vector<std::int32_t> fetch(rule.runs.size(), graph.turn);  // by step: where the convolution-like layer before begins
  std::int32_t before = graph.turn;
  for (std::int32_t step = graph.turn; step < static_cast<std::int32_t>(rule.runs.size()); ++step) {
    fetch[index(step)] = std::min(before, step);
    if (graph.expensive[index(rule.runs[index(step)])] != 0) before = start[index(step)];
  }
  for (const Gap& gap : find_gaps(graph.table, rule.runs)) {
    if (gap.after >= graph.turn || gap.use < graph.turn || gap.written < 0) continue;
    const std::int32_t writer = rule.runs[index(gap.written)];
    if (graph.expensive[index(writer)] == 0 && !graph.recompute.eligible(writer)) continue;
    rule.swaps.push_back({gap.buffer, gap.after, gap.written, ForcedSwap::none, gap.use, fetch[index(gap.use)],
                          ForcedSwap::none});
  }
  return rule;
}

}  // namespace

PlannerInfo SuperNeuronsPlanner::info() const {
  return {"superneurons",
          "SuperNeurons (PPoPP 2018): offloads outputs of convolution-like ops, runs the cheap ops between them again", false};
}

Program SuperNeuronsPlanner::plan(const PlanRequest& request) const {
  const RuleGraph graph(*request.graph);
  const Rule rule = make_rule(graph);
  return plan_by_rules(request, name(), graph, {&rule, 1});
}

}  // namespace swapadvisor
