#include <swapadvisor/swap/baseline_rule.h>
#include <swapadvisor/swap/baselines.h>

#include <algorithm>

namespace swapadvisor {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

/// The cheap ops between two convolution-like ones are a segment.
struct Segments {
  std::vector<std::int32_t> of_step;    ///< by forward step
  std::vector<std::uint8_t> again;      ///< by op: runs again
  std::vector<std::int32_t> stays;      ///< by op: `run_sequence`
};

// Cheap forward ops run again, but for those whose outputs are read by cheap ops of a later segment (a
// residual connection): so a segment is made again from checkpoints alone.
Segments find_segments(const RuleGraph& graph) {
  Segments segments;
  segments.of_step.resize(index(graph.turn));
  std::vector<std::uint8_t> cheap(graph.table.op_count(), 0);
  std::int32_t current = 0;
  for (std::int32_t step = 0; step < graph.turn; ++step) {
    const std::int32_t op = graph.order[index(step)];
    if (graph.expensive[index(op)] != 0) ++current;
    segments.of_step[index(step)] = current;
    cheap[index(op)] = graph.expensive[index(op)] == 0 && graph.recompute.eligible(op) ? 1 : 0;
  }
  segments.again = cheap;
  std::vector<std::int32_t> written(graph.table.buffer_count(), -1);
  for (std::int32_t step = 0; step < graph.turn; ++step) {
    const std::int32_t op = graph.order[index(step)];
    for (const OpTable::Operand& operand : graph.table.operands(op)) {
      std::int32_t& writer = written[index(operand.buffer)];
      const bool other = writer >= 0 && segments.of_step[index(writer)] != segments.of_step[index(step)];
      if (operand.read && cheap[index(op)] != 0 && other)
        segments.again[index(graph.order[index(writer)])] = 0;
      if (operand.write) writer = step;
    }
  }
  return segments;
}

// A segment whose values are together no larger than the neediest op costs no memory when it is made again
// once, and for good; a larger one is made again for each op that needs it.
void choose_by_memory(const RuleGraph& graph, Segments& segments) {
  std::int64_t peak = 0;
  for (std::int32_t op : graph.order) {
    std::int64_t need = graph.table.workspace(op);
    for (const OpTable::Operand& operand : graph.table.operands(op))
      need += graph.table.bytes(operand.buffer);
    peak = std::max(peak, need);
  }
  std::vector<std::int64_t> bytes(segments.of_step.size() + 1, 0);
  const auto bytes_of = [&](std::int32_t step) -> std::int64_t& {
    return bytes[index(segments.of_step[index(step)])];
  };
  for (std::int32_t step = 0; step < graph.turn; ++step) {
    const std::int32_t op = graph.order[index(step)];
    for (const OpTable::Operand& operand : graph.table.operands(op))
      if (operand.write && segments.again[index(op)] != 0)
        bytes_of(step) += graph.table.bytes(operand.buffer);
  }
  segments.stays.assign(graph.table.op_count(), stays_for_good);
  for (std::int32_t step = 0; step < graph.turn; ++step)
    if (bytes_of(step) > peak) segments.stays[index(graph.order[index(step)])] = 0;
}

// Checkpoints: what the backward pass needs and cheap recomputing does not give back. Those that
// convolution-like ops or residual connections made are offloaded.
Rule make_rule(const RuleGraph& graph) {
  Segments segments = find_segments(graph);
  choose_by_memory(graph, segments);
  Rule rule;
  run_sequence(graph.table, graph.order, graph.turn, segments.again, rule.runs, segments.stays);
  const std::vector<std::int32_t> start = layer_starts(graph.table, rule.runs, graph.turn);
  // By step: where the convolution-like layer before it begins. What is needed before there is one is kept.
  std::vector<std::int32_t> fetch(rule.runs.size(), ForcedSwap::none);
  std::int32_t before = ForcedSwap::none;
  for (std::int32_t step = graph.turn; step < static_cast<std::int32_t>(rule.runs.size()); ++step) {
    fetch[index(step)] = before;
    if (graph.expensive[index(rule.runs[index(step)])] != 0) before = start[index(step)];
  }
  for (const Gap& gap : find_gaps(graph.table, rule.runs)) {
    if (gap.after >= graph.turn || gap.use < graph.turn || gap.written < 0) continue;
    if (fetch[index(gap.use)] < 0) continue;
    const std::int32_t writer = rule.runs[index(gap.written)];
    if (graph.expensive[index(writer)] == 0 && !graph.recompute.eligible(writer)) continue;
    rule.swaps.push_back({gap.buffer, gap.after, gap.written, ForcedSwap::none, gap.use,
                          fetch[index(gap.use)], ForcedSwap::none});
  }
  return rule;
}

}  // namespace

PlannerInfo SuperNeuronsPlanner::info() const {
  return {"superneurons",
          "SuperNeurons (PPoPP 2018): offloads outputs of convolution-like ops, runs the cheap ops between "
          "them again",
          false};
}

Program SuperNeuronsPlanner::plan(const PlanRequest& request) const {
  const RuleGraph graph(*request.graph);
  const Rule rule = make_rule(graph);
  return plan_by_rules(request, name(), graph, {&rule, 1});
}

}  // namespace swapadvisor
