#include <swapadvisor/core/error.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/memory/liveness.h>
#include <swapadvisor/memory/placement.h>
#include <swapadvisor/swap/none.h>
#include <swapadvisor/swap/plan_builder.h>

#include <algorithm>

namespace swapadvisor {
namespace {

/// Addresses of everything, nothing swapped.
struct Layout {
  Liveness live;
  std::vector<std::int64_t> range_offset;      ///< by live range
  std::vector<std::int64_t> workspace_offset;  ///< by op
  std::int64_t bytes = 0;
};

bool is_temporary(const PlanGraph& graph, std::int32_t buffer) {
  return graph.buffers[static_cast<std::size_t>(buffer)].kind == BufferKind::temporary;
}

// Live ranges that share one address because an op works in place: the later one joins the earlier one's
// item.
std::vector<std::int32_t> join_inplace(const PlanGraph& graph, const Liveness& live) {
  std::vector<std::int32_t> joined(live.ranges.size(), -1);
  for (std::size_t p = 0; p < graph.ops.size(); ++p) {
    const PlanOp& op = graph.ops[p];
    const std::int32_t* ranges = live.operand_range.data() + live.operand_begin[p];
    const InplacePair pair = inplace_pair(graph, op, [&](std::size_t k) {
      return is_temporary(graph, op.inputs[k]) &&
             live.ranges[static_cast<std::size_t>(ranges[k])].last == static_cast<std::int32_t>(p);
    });
    if (!pair.any() || !is_temporary(graph, op.outputs[static_cast<std::size_t>(pair.output)])) continue;
    joined[static_cast<std::size_t>(ranges[op.inputs.size() + static_cast<std::size_t>(pair.output)])] =
        ranges[pair.input];
  }
  return joined;
}

Layout lay_out(const PlanGraph& graph) {
  Layout layout;
  layout.live = live_ranges(graph, given_order(graph));
  const std::vector<LiveRange>& ranges = layout.live.ranges;
  const std::vector<std::int32_t> joined = join_inplace(graph, layout.live);
  layout.range_offset.resize(ranges.size());
  std::vector<PlacementItem> items;
  std::vector<std::int32_t> item_of(ranges.size(), -1);
  std::int64_t base = 0;  // what lives all through lies at the bottom
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    const std::int64_t bytes = graph.buffers[static_cast<std::size_t>(ranges[r].buffer)].bytes;
    if (!is_temporary(graph, ranges[r].buffer)) {
      layout.range_offset[r] = base;
      base += round_up(bytes, arena_alignment);
    } else if (joined[r] >= 0) {  // its range comes earlier in the list: ranges are opened in order
      item_of[r] = item_of[static_cast<std::size_t>(joined[r])];
      items[static_cast<std::size_t>(item_of[r])].last = ranges[r].last;
    } else {
      item_of[r] = static_cast<std::int32_t>(items.size());
      items.push_back({bytes, ranges[r].first, ranges[r].last});
    }
  }
  const std::size_t first_workspace = items.size();
  for (std::size_t p = 0; p < graph.ops.size(); ++p)
    if (graph.ops[p].workspace_bytes > 0)
      items.push_back(
          {graph.ops[p].workspace_bytes, static_cast<std::int32_t>(p), static_cast<std::int32_t>(p)});
  const Placement placement = place(items);
  for (std::size_t r = 0; r < ranges.size(); ++r)
    if (item_of[r] >= 0)
      layout.range_offset[r] = base + placement.offsets[static_cast<std::size_t>(item_of[r])];
  layout.workspace_offset.assign(graph.ops.size(), -1);
  std::size_t item = first_workspace;
  for (std::size_t p = 0; p < graph.ops.size(); ++p)
    if (graph.ops[p].workspace_bytes > 0) layout.workspace_offset[p] = base + placement.offsets[item++];
  layout.bytes = base + placement.bytes;
  return layout;
}

// Inputs come in the order of their first use: the copy of one must not wait behind one that is needed later.
void add_ops(const PlanGraph& graph, const Layout& layout, InstructionList& list) {
  std::vector<bool> loaded(graph.buffers.size(), false);
  std::vector<std::int32_t> last_write(graph.buffers.size(), -1);
  for (std::size_t p = 0; p < graph.ops.size(); ++p)
    for (std::int32_t b : graph.ops[p].outputs)
      last_write[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(p);
  const auto add = [&](InstructionKind kind, std::int32_t target) {
    list.entries.push_back({kind, target, static_cast<std::int32_t>(list.offsets.size())});
  };
  const auto kind_of = [&](std::int32_t b) { return graph.buffers[static_cast<std::size_t>(b)].kind; };
  for (std::size_t p = 0; p < graph.ops.size(); ++p) {
    const PlanOp& op = graph.ops[p];
    const auto offset = [&](std::size_t operand) {
      const auto begin = static_cast<std::size_t>(layout.live.operand_begin[p]);
      return layout.range_offset[static_cast<std::size_t>(layout.live.operand_range[begin + operand])];
    };
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const std::int32_t b = op.inputs[k];
      if (kind_of(b) != BufferKind::input || loaded[static_cast<std::size_t>(b)]) continue;
      loaded[static_cast<std::size_t>(b)] = true;
      add(InstructionKind::swap_in, b);
      list.offsets.push_back(offset(k));
    }
    add(InstructionKind::run, static_cast<std::int32_t>(p));
    for (std::size_t k = 0; k < op.inputs.size() + op.outputs.size(); ++k) list.offsets.push_back(offset(k));
    if (op.workspace_bytes > 0) list.offsets.push_back(layout.workspace_offset[p]);
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      const std::int32_t b = op.outputs[k];
      if (kind_of(b) != BufferKind::output ||
          last_write[static_cast<std::size_t>(b)] != static_cast<std::int32_t>(p))
        continue;
      add(InstructionKind::swap_out, b);
      list.offsets.push_back(offset(op.inputs.size() + k));
    }
  }
}

Program build(const PlanRequest& request, const std::string& planner, const Layout& layout) {
  const PlanGraph& graph = *request.graph;
  const OpTable table(graph);
  InstructionList list;
  add_ops(graph, layout, list);
  std::vector<Resident> residents;
  for (std::size_t r = 0; r < layout.live.ranges.size(); ++r) {
    const std::int32_t b = layout.live.ranges[r].buffer;
    if (table.persistent(b)) residents.push_back({b, layout.range_offset[r], table.written(b)});
  }
  FlatProgram flat;
  WaitInference(table).infer(list, flat);
  return finish_program(planner, request, list, flat, residents);
}

}  // namespace

PlannerInfo NonePlanner::info() const {
  return {"none", "everything stays on the device; refuses a graph that does not fit", false};
}

Program NonePlanner::plan(const PlanRequest& request) const {
  const Layout layout = lay_out(*request.graph);
  if (layout.bytes > request.device.memory_bytes)
    fail("planner none: graph '{}' {}", request.graph->name,
         format_need(layout.bytes, request.device.memory_bytes, "device memory"));
  return build(request, "none", layout);
}

bool plan_without_swaps(const PlanRequest& request, const std::string& planner, Program& program) {
  const Layout layout = lay_out(*request.graph);
  if (layout.bytes > request.device.memory_bytes) return false;
  program = build(request, planner, layout);
  return true;
}

std::int64_t device_bytes_needed(const PlanGraph& graph) {
  return lay_out(graph).bytes;
}

}  // namespace swapadvisor
