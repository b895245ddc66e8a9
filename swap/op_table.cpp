#include <swapadvisor/core/program.h>
#include <swapadvisor/swap/op_table.h>

#include <algorithm>

namespace swapadvisor {

OpTable::OpTable(const PlanGraph& graph) : graph_(&graph), written_(graph.buffers.size(), 0) {
  for (const PlanBuffer& buffer : graph.buffers) {
    bytes_.push_back(round_up(buffer.bytes, arena_alignment));
    kinds_.push_back(buffer.kind);
  }
  for (const PlanOp& op : graph.ops) add_operands(op);
  operand_begin_.push_back(static_cast<std::int32_t>(operands_.size()));
  slot_begin_.push_back(static_cast<std::int32_t>(slots_.size()));
}

void OpTable::add_operands(const PlanOp& op) {
  operand_begin_.push_back(static_cast<std::int32_t>(operands_.size()));
  slot_begin_.push_back(static_cast<std::int32_t>(slots_.size()));
  workspace_.push_back(round_up(op.workspace_bytes, arena_alignment));
  const auto first = static_cast<std::ptrdiff_t>(operands_.size());
  std::int32_t slot = 0;
  const auto add = [&](std::int32_t b, bool write) {
    slots_.push_back(b);
    const auto known = std::find_if(operands_.begin() + first, operands_.end(),
                                    [b](const Operand& operand) { return operand.buffer == b; });
    if (known == operands_.end())
      operands_.push_back({b, slot, !write, write});
    else
      known->write |= write;
    ++slot;
    if (write) written_[static_cast<std::size_t>(b)] = 1;
  };
  for (std::int32_t b : op.inputs) add(b, false);
  for (std::int32_t b : op.outputs) add(b, true);
  std::stable_partition(operands_.begin() + first, operands_.end(),
                        [](const Operand& operand) { return !operand.write; });
}

}  // namespace swapadvisor
