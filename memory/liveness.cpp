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

}  // namespace swapadvisor
