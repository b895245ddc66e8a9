#include <swapadvisor/core/program.h>
#include <swapadvisor/memory/liveness.h>

#include <algorithm>

namespace swapadvisor {
namespace {

bool lives_all_through(BufferKind kind) {
  return kind != BufferKind::temporary;
}

bool reads(const PlanOp& op, std::int32_t b) {
  return std::find(op.inputs.begin(), op.inputs.end(), b) != op.inputs.end();
}

}  // namespace

Liveness live_ranges(const PlanGraph& graph, std::span<const std::int32_t> order) {
  Liveness live;
  std::vector<std::int32_t> current(graph.buffers.size(), -1);
  const auto end = static_cast<std::int32_t>(order.size()) - 1;
  const auto open = [&](std::int32_t b, std::int32_t first, std::int32_t last) {
    current[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(live.ranges.size());
    live.ranges.push_back({b, first, last});
  };
  for (std::size_t b = 0; b < graph.buffers.size(); ++b)
    if (lives_all_through(graph.buffers[b].kind)) open(static_cast<std::int32_t>(b), 0, std::max(end, 0));

  live.operand_begin.reserve(order.size() + 1);
  for (std::size_t p = 0; p < order.size(); ++p) {
    const PlanOp& op = graph.ops[static_cast<std::size_t>(order[p])];
    const auto position = static_cast<std::int32_t>(p);
    live.operand_begin.push_back(static_cast<std::int32_t>(live.operand_range.size()));
    const auto touch = [&](std::int32_t b) {
      LiveRange& range = live.ranges[static_cast<std::size_t>(current[static_cast<std::size_t>(b)])];
      range.last = std::max(range.last, position);
      live.operand_range.push_back(current[static_cast<std::size_t>(b)]);
    };
    for (std::int32_t b : op.inputs) touch(b);
    for (std::int32_t b : op.outputs) {
      if (!lives_all_through(graph.buffers[static_cast<std::size_t>(b)].kind) && !reads(op, b))
        open(b, position, position);
      touch(b);
    }
  }
  live.operand_begin.push_back(static_cast<std::int32_t>(live.operand_range.size()));
  return live;
}

std::int64_t largest_op_bytes(const PlanGraph& graph) {
  const auto bytes_of = [&](std::int32_t b) {
    return round_up(graph.buffers[static_cast<std::size_t>(b)].bytes, arena_alignment);
  };
  std::int64_t largest = 0;
  // From the last op to the first: whether what is in a buffer will be read before it is overwritten.
  std::vector<bool> needed(graph.buffers.size(), false);
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    std::vector<std::int32_t> operands = op->inputs;
    operands.insert(operands.end(), op->outputs.begin(), op->outputs.end());
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    std::int64_t bytes = round_up(op->workspace_bytes, arena_alignment);
    for (std::int32_t b : operands) bytes += bytes_of(b);
    const InplacePair pair = inplace_pair(
        graph, *op, [&](std::size_t k) { return !needed[static_cast<std::size_t>(op->inputs[k])]; });
    if (pair.any()) bytes -= bytes_of(op->outputs[static_cast<std::size_t>(pair.output)]);
    largest = std::max(largest, bytes);
    for (std::int32_t b : op->outputs) needed[static_cast<std::size_t>(b)] = false;
    for (std::int32_t b : op->inputs) needed[static_cast<std::size_t>(b)] = true;
  }
  return largest;
}

}  // namespace swapadvisor
