#include <swapadvisor/memory/liveness.h>
#include <swapadvisor/swap/order_uses.h>

namespace swapadvisor {

void OrderUses::find(const OpTable& table, std::span<const std::int32_t> order) {
  const std::size_t n = order.size();
  next_seen_.assign(table.buffer_count(), never);
  next_reads_.assign(table.buffer_count(), 0);
  last_write_.assign(table.buffer_count(), -1);
  begin_.resize(n);
  std::int32_t total = 0;
  for (std::size_t s = 0; s < n; ++s) {
    begin_[s] = total;
    total += static_cast<std::int32_t>(table.operands(order[s]).size());
  }
  uses_.resize(static_cast<std::size_t>(total));
  for (std::size_t s = n; s-- > 0;) {
    auto use = static_cast<std::size_t>(begin_[s]);
    for (const OpTable::Operand& operand : table.operands(order[s])) {
      const auto b = static_cast<std::size_t>(operand.buffer);
      const bool last = next_seen_[b] == never;
      uses_[use++] = {next_seen_[b], last ? !table.persistent(operand.buffer) : next_reads_[b] == 0};
      next_seen_[b] = static_cast<std::int32_t>(s);
      next_reads_[b] = operand.read ? 1 : 0;
      if (operand.write && last_write_[b] < 0) last_write_[b] = static_cast<std::int32_t>(s);
    }
  }
  for (std::size_t s = 0; s < n; ++s) {
    auto use = static_cast<std::size_t>(begin_[s]);
    for (const OpTable::Operand& operand : table.operands(order[s])) {
      Use& u = uses_[use++];
      if (u.next == never && table.persistent(operand.buffer))
        u.next = static_cast<std::int32_t>(n) + next_seen_[static_cast<std::size_t>(operand.buffer)];
    }
  }
  find_pairs(table, order);
}

void OrderUses::find_pairs(const OpTable& table, std::span<const std::int32_t> order) {
  pairs_.assign(order.size(), {});
  for (std::size_t s = 0; s < order.size(); ++s) {
    const PlanOp& op = table.graph().ops[static_cast<std::size_t>(order[s])];
    if (!op.inplace) continue;
    const auto operands = table.operands(order[s]);
    const auto dies = [&](std::size_t input) {
      for (std::size_t k = 0; k < operands.size(); ++k)
        if (operands[k].buffer == op.inputs[input]) return uses(static_cast<std::int32_t>(s))[k].dies;
      return false;
    };
    const InplacePair pair = inplace_pair(table.graph(), op, dies);
    if (pair.any())
      pairs_[s] = {op.inputs[static_cast<std::size_t>(pair.input)],
                   op.outputs[static_cast<std::size_t>(pair.output)]};
  }
}

}  // namespace swapadvisor
