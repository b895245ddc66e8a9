#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/recompute.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace swapadvisor {
namespace {

constexpr std::int32_t source = 0, sink = 1;

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

std::int32_t find_turn(const OpTable& table, std::span<const std::int32_t> order) {
  std::vector<std::int32_t> last(table.buffer_count(), -1);
  for (std::size_t s = 0; s < order.size(); ++s)
    for (const OpTable::Operand& operand : table.operands(order[s]))
      last[index(operand.buffer)] = static_cast<std::int32_t>(s);
  std::vector<std::uint8_t> alive(table.buffer_count(), 0);
  std::int64_t bytes = 0, most = -1;
  std::int32_t turn = 0;
  for (std::size_t s = 0; s < order.size(); ++s) {
    for (const OpTable::Operand& operand : table.operands(order[s])) {
      if (table.kind(operand.buffer) != BufferKind::temporary) continue;
      std::uint8_t& is_alive = alive[index(operand.buffer)];
      if (is_alive == 0) bytes += table.bytes(operand.buffer);
      is_alive = 1;
      if (last[index(operand.buffer)] == static_cast<std::int32_t>(s)) bytes -= table.bytes(operand.buffer);
    }
    if (bytes > most) {
      most = bytes;
      turn = static_cast<std::int32_t>(s) + 1;
    }
  }
  return turn;
}

RecomputeChoice::RecomputeChoice(const OpTable& table, std::span<const std::int32_t> order)
    : table_(&table), position_(table.op_count(), -1), writer_(table.buffer_count(), -1) {
  for (std::size_t s = 0; s < order.size(); ++s) position_[index(order[s])] = static_cast<std::int32_t>(s);
  turn_ = find_turn(table, order);
  find_eligible(order);
  if (any_eligible_) build_cut();
}

void RecomputeChoice::find_eligible(std::span<const std::int32_t> order) {
  constexpr std::int32_t several = -2;
  crosses_.assign(table_->buffer_count(), 0);
  for (std::int32_t op : order)
    for (const OpTable::Operand& operand : table_->operands(op)) {
      if (operand.write && table_->kind(operand.buffer) == BufferKind::temporary) {
        std::int32_t& writer = writer_[index(operand.buffer)];
        writer = writer == -1 && !operand.read ? op : several;
      }
      if (operand.read && position_[index(op)] >= turn_) crosses_[index(operand.buffer)] = 1;
    }
  for (std::int32_t& writer : writer_) writer = std::max(writer, -1);
  eligible_.assign(table_->op_count(), 0);
  for (std::int32_t op : order) {
    if (position_[index(op)] >= turn_ || !table_->graph().ops[index(op)].recomputable) continue;
    bool fits = true;
    for (const OpTable::Operand& operand : table_->operands(op))
      fits = fits && (!operand.write || writer_[index(operand.buffer)] == op);
    eligible_[index(op)] = fits ? 1 : 0;
    if (fits) by_position_.push_back(op);
    any_eligible_ = any_eligible_ || fits;
  }
}

// Nodes: of an op that may run again, "runs again"; of a value, "is needed behind the turn". True is the
// source's side.
//   needed by an op behind the turn:            source → value, infinite
//   an op that runs again needs its inputs:     op → input, infinite
//   needed, yet not made again, so kept:        value → writer (or sink), its bytes' price
//   runs again:                                 op → sink, its seconds
void RecomputeChoice::build_cut() {
  std::int32_t nodes = 2;
  op_node_.assign(table_->op_count(), -1);
  std::vector<std::int32_t> value_node(table_->buffer_count(), -1);
  for (std::size_t op = 0; op < eligible_.size(); ++op)
    if (eligible_[op] != 0) op_node_[op] = nodes++;
  const auto crosses_turn = [&](std::int32_t b) {
    const std::int32_t writer = writer_[index(b)];
    return writer >= 0 && position_[index(writer)] < turn_;
  };
  for (std::size_t b = 0; b < value_node.size(); ++b)
    if (crosses_turn(static_cast<std::int32_t>(b))) value_node[b] = nodes++;
  cut_ = MinCut(nodes);
  lowest_price_ = std::numeric_limits<double>::infinity();
  for (std::size_t b = 0; b < value_node.size(); ++b) {
    if (value_node[b] < 0) continue;
    const std::int32_t writer = writer_[b];
    const std::int32_t made = op_node_[index(writer)];
    const auto bytes = static_cast<double>(table_->bytes(static_cast<std::int32_t>(b)));
    const double place = static_cast<double>(position_[index(writer)]) / std::max(1, turn_);
    kept_.push_back({cut_.add_edge(value_node[b], made < 0 ? sink : made, 0), static_cast<std::int32_t>(b),
                     bytes, place});
    if (crosses_[b] != 0) cut_.add_edge(source, value_node[b], MinCut::infinite);
    if (made < 0) continue;
    const double price = std::max(table_->graph().ops[index(writer)].seconds, 1e-12) / bytes;
    lowest_price_ = std::min(lowest_price_, price);
    highest_price_ = std::max(highest_price_, price);
  }
  any_eligible_ = highest_price_ > 0;  // an op without outputs has nothing to make again, and no price
  for (std::size_t op = 0; op < eligible_.size(); ++op) {
    if (op_node_[op] < 0) continue;
    cut_.add_edge(op_node_[op], sink, std::max(table_->graph().ops[op].seconds, 1e-12));
    for (const OpTable::Operand& operand : table_->operands(static_cast<std::int32_t>(op)))
      if (operand.read && value_node[index(operand.buffer)] >= 0)
        cut_.add_edge(op_node_[op], value_node[index(operand.buffer)], MinCut::infinite);
  }
}

void RecomputeChoice::price_line(std::span<const double> log_prices, std::vector<double>& prices) const {
  prices.assign(table_->buffer_count(), 0);
  for (const Kept& kept : kept_) {
    const double at = kept.place * static_cast<double>(log_prices.size() - 1);
    const auto left = static_cast<std::size_t>(at);
    const std::size_t right = std::min(left + 1, log_prices.size() - 1);
    prices[index(kept.buffer)] = std::exp(log_prices[left] + (at - static_cast<double>(left)) *
                                                                 (log_prices[right] - log_prices[left]));
  }
}

void RecomputeChoice::choose(std::span<const double> prices, std::int32_t longest_chain,
                             std::vector<std::uint8_t>& again) {
  again.assign(table_->op_count(), 0);
  if (!any_eligible_) return;
  for (const Kept& kept : kept_) cut_.set_capacity(kept.edge, kept.bytes * prices[index(kept.buffer)]);
  cut_.solve(source, sink);
  for (std::size_t op = 0; op < again.size(); ++op)
    again[op] = op_node_[op] >= 0 && cut_.on_source_side(op_node_[op]) ? 1 : 0;
  cut_chains(longest_chain, again);
}

void RecomputeChoice::cut_chains(std::int32_t longest, std::vector<std::uint8_t>& again) {
  chain_.assign(again.size(), 0);
  for (std::int32_t op : by_position_) {
    if (again[index(op)] == 0) continue;
    std::int32_t before = 0;
    for (const OpTable::Operand& operand : table_->operands(op))
      if (const std::int32_t writer = writer_[index(operand.buffer)]; operand.read && writer >= 0)
        before = std::max(before, chain_[index(writer)]);
    if (before < longest)
      chain_[index(op)] = before + 1;
    else
      again[index(op)] = 0;
  }
}

namespace {

/// Builds a run sequence, op by op.
class Sequence {
 public:
  Sequence(const OpTable& table, std::span<const std::uint8_t> again, std::span<const std::int32_t> stays,
           std::vector<std::int32_t>& runs)
      : table_(table),
        runs_(runs),
        again_(again),
        stays_(stays),
        writer_(table.buffer_count(), -1),
        written_at_(table.buffer_count(), -1),
        ran_at_(table.op_count(), -1),
        touched_at_(table.op_count(), never) {}

  /// The run of the order at `step`.
  void run(std::int32_t op, std::int32_t step, bool behind_turn) {
    for (const OpTable::Operand& operand : table_.operands(op)) {
      if (!operand.write) continue;
      writer_[index(operand.buffer)] = op;
      written_at_[index(operand.buffer)] = step;
    }
    ran_at_[index(op)] = step;
    if (behind_turn) touched_at_[index(op)] = made_behind_turn;
    runs_.push_back(op);
  }

  // Runs again what `op`, at `step`, reads and what is not there, with all that takes.
  void make_inputs(std::int32_t op, std::int32_t step) {
    stack_.assign(1, {op, 0});
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      const auto operands = table_.operands(frame.op);
      std::int32_t wanted = -1;
      for (; frame.operand < operands.size() && wanted < 0; ++frame.operand) {
        const OpTable::Operand& operand = operands[frame.operand];
        if (!operand.read) continue;
        const std::int32_t writer = writer_[index(operand.buffer)];
        if (writer >= 0 && is_missing(writer, step)) wanted = writer;
      }
      if (wanted >= 0) {
        // Otherwise its value is kept: nothing is wrong without the second run.
        if (finds_its_inputs(wanted)) stack_.push_back({wanted, 0});
        continue;
      }
      if (stack_.size() > 1) runs_.push_back(frame.op);
      stack_.pop_back();
    }
  }

 private:
  struct Frame {
    std::int32_t op = 0;
    std::size_t operand = 0;
  };
  static constexpr std::int32_t never = -1, made_behind_turn = -2;

  // Whether what `writer` made is to be made again for a reader at `step`, which touches it.
  bool is_missing(std::int32_t writer, std::int32_t step) {
    std::int32_t& touched = touched_at_[index(writer)];
    if (again_[index(writer)] == 0 || touched == made_behind_turn) return false;
    const std::int32_t stays = stays_.empty() ? stays_for_good : stays_[index(writer)];
    const bool missing = touched == never || step - touched > stays;
    touched = step;
    return missing;
  }

  // Nobody has written them since it ran.
  bool finds_its_inputs(std::int32_t op) const {
    for (const OpTable::Operand& operand : table_.operands(op))
      if (operand.read && written_at_[index(operand.buffer)] > ran_at_[index(op)]) return false;
    return true;
  }

  const OpTable& table_;
  std::vector<std::int32_t>& runs_;
  std::span<const std::uint8_t> again_;
  std::span<const std::int32_t> stays_;
  std::vector<std::int32_t> writer_, written_at_;  // of each buffer's present value: op, step
  std::vector<std::int32_t> ran_at_;               // step
  std::vector<std::int32_t> touched_at_;  // step of the last reader behind the turn of what an op made
  std::vector<Frame> stack_;
};

}  // namespace

void run_sequence(const OpTable& table, std::span<const std::int32_t> order, std::int32_t turn,
                  std::span<const std::uint8_t> again, std::vector<std::int32_t>& runs,
                  std::span<const std::int32_t> stays) {
  runs.clear();
  Sequence sequence(table, again, stays, runs);
  for (std::size_t s = 0; s < order.size(); ++s) {
    const auto step = static_cast<std::int32_t>(s);
    if (step >= turn) sequence.make_inputs(order[s], step);
    sequence.run(order[s], step, step >= turn);
  }
}

}  // namespace swapadvisor
