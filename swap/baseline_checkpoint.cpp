#include <swapadvisor/swap/baseline_rule.h>
#include <swapadvisor/swap/baselines.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

/// The forward pass as segments see it.
struct ForwardPass {
  std::vector<std::int64_t> made;    ///< by step: bytes made there that the backward pass reads
  std::vector<std::int64_t> passed;  ///< by step: bytes alive behind it that later forward ops read
  std::int64_t total = 0;            ///< of `made`
};

ForwardPass measure(const RuleGraph& graph) {
  const std::size_t turn = index(graph.turn);
  ForwardPass pass{std::vector<std::int64_t>(turn, 0), std::vector<std::int64_t>(turn + 1, 0), 0};
  std::vector<std::int64_t> change(turn + 1, 0);
  for (const Gap& gap : find_gaps(graph.table, graph.order)) {
    if (gap.written < 0 || gap.written >= graph.turn) continue;
    const std::int64_t bytes = graph.table.bytes(gap.buffer);
    if (gap.use >= graph.turn) {
      if (gap.after < graph.turn) pass.made[index(gap.written)] += bytes, pass.total += bytes;
    } else {
      change[index(gap.after)] += bytes, change[index(gap.use)] -= bytes;
    }
  }
  std::int64_t alive = 0;
  for (std::size_t s = 0; s < turn; ++s) pass.passed[s] = alive += change[s];
  return pass;
}

// By forward step: its segment. A segment ends when it has made its share of bytes, or within half as many
// more, where the fewest bytes cross the boundary.
std::vector<std::int32_t> segments(const ForwardPass& pass, double count) {
  const double share = static_cast<double>(pass.total) / count;
  const std::size_t turn = pass.made.size();
  std::vector<std::int32_t> segment(turn, 0);
  std::int32_t current = 0;
  for (std::size_t begin = 0; begin < turn;) {
    double made = 0;
    std::size_t best = turn;  // the last step of the segment
    for (std::size_t s = begin; s < turn && made <= 1.5 * share; ++s) {
      made += static_cast<double>(pass.made[s]);
      if (made >= share && (best == turn || pass.passed[s] < pass.passed[best])) best = s;
    }
    const std::size_t end = std::min(best + 1, turn);
    for (std::size_t s = begin; s < end; ++s) segment[s] = current;
    ++current;
    begin = end;
  }
  return segment;
}

// Kept: what a later segment reads. The last segment is about to be used, so nothing of it is dropped.
Rule segment_rule(const RuleGraph& graph, const std::vector<std::int32_t>& segment) {
  std::vector<std::uint8_t> again(graph.table.op_count(), 0);
  const std::int32_t last = segment.empty() ? 0 : segment.back();
  for (std::size_t s = 0; s < segment.size(); ++s)
    again[index(graph.order[s])] = graph.recompute.eligible(graph.order[s]) && segment[s] < last ? 1 : 0;
  for (const Gap& gap : find_gaps(graph.table, graph.order)) {
    if (gap.written < 0 || gap.use >= graph.turn) continue;
    if (segment[index(gap.use)] != segment[index(gap.written)])
      again[index(graph.order[index(gap.written)])] = 0;
  }
  Rule rule;
  run_sequence(graph.table, graph.order, graph.turn, again, rule.runs);
  return rule;
}

}  // namespace

PlannerInfo CheckpointPlanner::info() const {
  return {"checkpoint",
          "sublinear memory (Chen et al. 2016): about sqrt(n) forward segments are run again, no swaps",
          false};
}

Program CheckpointPlanner::plan(const PlanRequest& request) const {
  const RuleGraph graph(*request.graph);
  const ForwardPass pass = measure(graph);
  const double root = std::sqrt(std::max(1.0, static_cast<double>(graph.turn)));
  std::vector<Rule> rules;
  for (const double count : {root, root / 2, root * 2})
    rules.push_back(segment_rule(graph, segments(pass, std::max(2.0, std::round(count)))));
  return plan_by_rules(request, name(), graph, rules);
}

}  // namespace swapadvisor
