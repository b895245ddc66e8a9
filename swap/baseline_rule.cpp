#include <swapadvisor/memory/liveness.h>
#include <swapadvisor/swap/baseline_rule.h>
#include <swapadvisor/swap/none.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

namespace swapadvisor {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

template <std::size_t n>
bool holds_any(std::string_view type, const std::array<std::string_view, n>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return type.find(word) != std::string_view::npos; });
}

}  // namespace

RuleGraph::RuleGraph(const PlanGraph& graph)
    : table(graph),
      order(given_order(graph)),
      recompute(table, order),
      turn(recompute.turn()),
      expensive(expensive_ops(graph)) {}

std::vector<std::uint8_t> expensive_ops(const PlanGraph& graph) {
  constexpr std::array<std::string_view, 6> costly = {"conv",   "gemm",  "matmul",
                                                      "linear", "dense", "attention"};
  constexpr std::array<std::string_view, 16> cheap = {"relu", "gelu", "tanh", "sigmoid", "norm", "bn",
                                                      "pool", "gap",  "add",  "scale",   "bias", "softmax",
                                                      "drop", "cell", "cast", "loss"};
  std::vector<double> bytes(graph.ops.size(), 0);
  double fastest = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (std::int32_t b : graph.ops[i].inputs) bytes[i] += static_cast<double>(graph.buffers[index(b)].bytes);
    for (std::int32_t b : graph.ops[i].outputs)
      bytes[i] += static_cast<double>(graph.buffers[index(b)].bytes);
    if (graph.ops[i].seconds > 0) fastest = std::max(fastest, bytes[i] / graph.ops[i].seconds);
  }
  std::vector<std::uint8_t> expensive(graph.ops.size(), 0);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const PlanOp& op = graph.ops[i];
    const bool by_cost = op.seconds * fastest > 4 * bytes[i];
    expensive[i] = holds_any(op.type, costly) || (!holds_any(op.type, cheap) && by_cost) ? 1 : 0;
  }
  return expensive;
}

std::vector<Gap> find_gaps(const OpTable& table, std::span<const std::int32_t> runs) {
  OrderUses uses;
  uses.find(table, runs);
  std::vector<std::int32_t> written(table.buffer_count(), -1);
  std::vector<Gap> gaps;
  const auto n = static_cast<std::int32_t>(runs.size());
  for (std::int32_t step = 0; step < n; ++step)
    for (const OrderUses::Use& use : uses.uses(step)) {
      if (use.write) written[index(use.buffer)] = step;
      if (use.dies || use.next >= n || table.persistent(use.buffer)) continue;
      gaps.push_back({use.buffer, step, use.next, written[index(use.buffer)], use.read});
    }
  return gaps;
}

std::vector<std::int32_t> layer_starts(const OpTable& table, std::span<const std::int32_t> runs,
                                       std::int32_t turn) {
  constexpr std::int32_t close = 3;
  std::vector<std::int32_t> start(runs.size());
  std::vector<std::uint8_t> gradient(table.buffer_count(), 0);  // written behind the turn
  std::vector<std::int32_t> reader(table.buffer_count(), -1);   // the latest of a gradient's present value
  for (std::int32_t step = 0; step < static_cast<std::int32_t>(runs.size()); ++step) {
    std::int32_t& first = start[index(step)];
    first = step;
    if (step < turn) continue;
    for (const OpTable::Operand& operand : table.operands(runs[index(step)])) {
      const std::size_t b = index(operand.buffer);
      if (operand.read && gradient[b] != 0 && reader[b] >= 0 && step - reader[b] <= close)
        first = std::min(first, start[index(reader[b])]);
      if (operand.read) reader[b] = step;
      if (!operand.write || table.persistent(operand.buffer)) continue;
      gradient[b] = 1;
      reader[b] = -1;
    }
  }
  return start;
}

namespace {

std::int64_t raw_bytes(const OpTable& table, std::int32_t buffer) {
  return table.graph().buffers[index(buffer)].bytes;
}

// What the walk will ask of its neediest run, exactly.
std::int64_t largest_need(const OpTable& table, std::span<const std::int32_t> runs) {
  OrderUses uses;
  uses.find(table, runs);
  std::int64_t largest = 0;
  for (std::int32_t step = 0; step < static_cast<std::int32_t>(runs.size()); ++step) {
    std::int64_t need = table.workspace(runs[index(step)]);
    for (const OrderUses::Use& use : uses.uses(step)) need += table.bytes(use.buffer);
    if (const OrderUses::Pair& pair = uses.pair(step); pair.taker >= 0) need -= table.bytes(pair.taker);
    largest = std::max(largest, need);
  }
  return largest;
}

/// Walks a rule from several starts, remembers the fastest plan.
class RuleWalks {
 public:
  RuleWalks(const PlanRequest& request, const RuleGraph& graph, const WalkPolicy& policy)
      : table_(graph.table),
        evaluator_(graph.table, request.device),
        policy_(policy),
        limit_(request.device.memory_bytes),
        bias_(graph.table.buffer_count(), keep) {
    std::vector<std::uint8_t> used(table_.buffer_count(), 0);
    for (std::int32_t op : graph.order)
      for (const OpTable::Operand& operand : table_.operands(op)) used[index(operand.buffer)] = 1;
    for (std::size_t b = 0; b < used.size(); ++b)
      if (used[b] != 0 && table_.two_slots(static_cast<std::int32_t>(b)))
        first_and_last_ += raw_bytes(table_, static_cast<std::int32_t>(b));
  }

  void walk(const Rule& rule) {
    walker().walk(ask(rule, {}, false));
    const std::vector<Resident> first(walker().residents_at_last_op().begin(),
                                      walker().residents_at_last_op().end());
    if (!keep_staying(rule, all_that_stays(rule))) return;
    evaluate(rule, {});
    keep_staying(rule, first);
  }

  // The less the better: bytes of fallback when more than a quarter of the copied bytes are, then seconds.
  std::pair<std::int64_t, double> rank() const {
    return {fallback_bytes_ * 4 > moved_bytes_ ? fallback_bytes_ : 0, evaluator_.best_seconds()};
  }

  Program program(const std::string& name, const PlanRequest& request) const {
    Program program = evaluator_.best_program(name, request);
    program.predicted.fallback_bytes = fallback_bytes_;
    return program;
  }

 private:
  // So many times as dear is an eviction that no rule asks for: rather wait for room that will be free.
  static constexpr float keep = 1e5F;

  Walker& walker() { return evaluator_.walker(); }

  WalkRequest ask(const Rule& rule, std::span<const Resident> start, bool close) const {
    return {rule.runs, start, close, policy_, bias_, rule.swaps};
  }

  // Bytes of copies that the rule did not ask for.
  std::int64_t evaluate(const Rule& rule, std::span<const Resident> start) {
    const double before = evaluator_.best_seconds();
    const double seconds = evaluator_.evaluate(ask(rule, start, true));
    std::int64_t moved = 0;
    for (const InstructionList::Entry& entry : walker().instructions().entries)
      if (entry.kind != InstructionKind::run) moved += raw_bytes(table_, entry.target);
    const std::int64_t fallback = moved - first_and_last_ - walker().forced_bytes();
    if (seconds < before) {
      moved_bytes_ = moved;
      fallback_bytes_ = fallback;
    }
    return fallback;
  }

  // Of what the iteration starts with, what had to move is not there at the start of the next try. False when
  // the rule alone makes everything fit.
  bool keep_staying(const Rule& rule, std::vector<Resident> start) {
    constexpr int most_passes = 4;
    for (int pass = 0; pass < most_passes; ++pass) {
      if (evaluate(rule, start) == 0) return false;
      const auto kept = walker().residents_worth_keeping();
      if (kept.size() == start.size()) break;
      start.assign(kept.begin(), kept.end());
      std::sort(start.begin(), start.end(),
                [](const Resident& a, const Resident& b) { return a.offset < b.offset; });
    }
    return true;
  }

  // Persistent buffers side by side at the bottom, as many as leave every run room for its other operands.
  std::vector<Resident> all_that_stays(const Rule& rule) {
    std::vector<std::uint8_t> in_host(table_.buffer_count(), 0), used(table_.buffer_count(), 0);
    for (const ForcedSwap& swap : rule.swaps)
      in_host[index(swap.buffer)] |= swap.use < 0 || swap.after < 0 ? 1 : 0;
    std::int64_t others = 0;
    for (std::int32_t op : rule.runs) {
      std::int64_t need = table_.workspace(op);
      for (const OpTable::Operand& operand : table_.operands(op)) {
        used[index(operand.buffer)] = 1;
        if (!table_.persistent(operand.buffer)) need += table_.bytes(operand.buffer);
      }
      others = std::max(others, need);
    }
    std::vector<Resident> start;
    std::int64_t offset = walker().fixed_bytes();
    for (std::size_t k = 0; k < used.size(); ++k) {
      const auto b = static_cast<std::int32_t>(k);
      if (!table_.persistent(b) || used[k] == 0 || in_host[k] != 0 || walker().at_fixed_address(b)) continue;
      if (offset + table_.bytes(b) > limit_ - others) continue;
      start.push_back({b, offset, table_.written(b)});
      offset += table_.bytes(b);
    }
    return start;
  }

  const OpTable& table_;
  WalkEvaluator evaluator_;
  WalkPolicy policy_;
  std::int64_t limit_;
  std::vector<float> bias_;
  std::int64_t first_and_last_ = 0;  // bytes of inputs swapped in once, outputs swapped out once
  std::int64_t moved_bytes_ = 0, fallback_bytes_ = 0;  // of the fastest
};

}  // namespace

Program plan_by_rules(const PlanRequest& request, const std::string& name, const RuleGraph& graph,
                      std::span<const Rule> rules, const WalkPolicy& policy) {
  Program program;
  const auto does_nothing = [&](const Rule& rule) {
    return rule.swaps.empty() && rule.runs.size() == graph.order.size();
  };
  if (std::any_of(rules.begin(), rules.end(), does_nothing) && plan_without_swaps(request, name, program))
    return program;
  const Rule as_given{graph.order, {}};
  std::unique_ptr<RuleWalks> best;
  for (const Rule& rule : rules) {
    const bool fits = rule.runs.size() == graph.order.size() ||
                      largest_need(graph.table, rule.runs) <= request.device.memory_bytes;
    auto walks = std::make_unique<RuleWalks>(request, graph, policy);
    walks->walk(fits ? rule : as_given);
    if (!best || walks->rank() < best->rank()) best = std::move(walks);
  }
  return best->program(name, request);
}

}  // namespace swapadvisor
