#include <swapadvisor/memory/liveness.h>
#include <swapadvisor/swap/order_uses.h>

namespace swapadvisor {

void OrderUses::find(const OpTable& table, std::span<const std::int32_t> order) {
  const std::size_t n = order.size();
  next_seen_.assign(table.buffer_count(), never);
  next_reads_.assign(table.buffer_count(), 0);
  last_write_.assign(table.buffer_count(), -1);
  begin_.resize(n + 1);
  std::int32_t total = 0;
  for (std::size_t s = 0; s < n; ++s) {
    begin_[s] = total;
    total += static_cast<std::int32_t>(table.operands(order[s]).size());
  }
  begin_[n] = total;
  uses_.resize(static_cast<std::size_t>(total));
  for (std::size_t s = n; s-- > 0;) {
    auto use = static_cast<std::size_t>(begin_[s]);
    for (const OpTable::Operand& operand : table.operands(order[s])) {
      const auto b = static_cast<std::size_t>(operand.buffer);
      const bool last = next_seen_[b] == never;
      const bool last_write = operand.write && last_write_[b] < 0;
      uses_[use++] = {operand.buffer,
                      next_seen_[b],
                      operand.read,
                      operand.write,
                      last ? !table.persistent(operand.buffer) : next_reads_[b] == 0,
                      last_write && table.kind(operand.buffer) == BufferKind::output};
      next_seen_[b] = static_cast<std::int32_t>(s);
      next_reads_[b] = operand.read ? 1 : 0;
      if (last_write) last_write_[b] = static_cast<std::int32_t>(s);
    }
  }
  for (Use& use : uses_)
    if (use.next == never && table.persistent(use.buffer))
      use.next = static_cast<std::int32_t>(n) + next_seen_[static_cast<std::size_t>(use.buffer)];
  find_pairs(table, order);
}

void OrderUses::find_pairs(const OpTable& table, std::span<const std::int32_t> order) {
  pairs_.assign(order.size(), {});
  for (std::size_t s = 0; s < order.size(); ++s) {
    const PlanOp& op = table.graph().ops[static_cast<std::size_t>(order[s])];
    if (!op.inplace) continue;
    const auto dies = [&](std::size_t input) {
      for (const Use& use : uses(static_cast<std::int32_t>(s)))
        if (use.buffer == op.inputs[input]) return use.dies;
      return false;
    };
    const InplacePair pair = inplace_pair(table.graph(), op, dies);
    if (pair.any())
      pairs_[s] = {op.inputs[static_cast<std::size_t>(pair.input)],
                   op.outputs[static_cast<std::size_t>(pair.output)]};
  }
}

}  // namespace swapadvisor
