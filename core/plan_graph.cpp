#include <fmt/format.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/plan_graph.h>
#include <swapadvisor/core/program.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor {
namespace {

constexpr std::int64_t largest_total = std::int64_t{1} << 60;

// `writer`: of each buffer, the last op that writes it, -1 before there is one.
void check_operands(const PlanGraph& graph, std::size_t index, std::vector<std::int64_t>& writer) {
  const PlanOp& op = graph.ops[index];
  const auto valid = [&](std::int32_t b) {
    return b >= 0 && static_cast<std::size_t>(b) < graph.buffers.size();
  };
  for (std::int32_t b : op.inputs) {
    if (!valid(b))
      fail("op {} '{}' reads buffer {}, but there are {} buffers", index, op.name, b, graph.buffers.size());
    const PlanBuffer& buffer = graph.buffers[static_cast<std::size_t>(b)];
    const bool needs_writer = buffer.kind == BufferKind::temporary || buffer.kind == BufferKind::output;
    if (needs_writer && writer[static_cast<std::size_t>(b)] < 0)
      fail("op {} '{}' reads buffer {} '{}' before any op writes it", index, op.name, b, buffer.name);
  }
  for (std::int32_t b : op.outputs) {
    if (!valid(b))
      fail("op {} '{}' writes buffer {}, but there are {} buffers", index, op.name, b, graph.buffers.size());
    const PlanBuffer& buffer = graph.buffers[static_cast<std::size_t>(b)];
    if (buffer.kind == BufferKind::input)
      fail("op {} '{}' writes input buffer '{}'", index, op.name, buffer.name);
    std::int64_t& last = writer[static_cast<std::size_t>(b)];
    if (last == static_cast<std::int64_t>(index))
      fail("op {} '{}' writes buffer {} twice", index, op.name, b);
    last = static_cast<std::int64_t>(index);
  }
}

}  // namespace

void check(const PlanGraph& graph) {
  std::int64_t total = 0;
  for (std::size_t b = 0; b < graph.buffers.size(); ++b) {
    const PlanBuffer& buffer = graph.buffers[b];
    if (buffer.bytes < 1 || buffer.bytes > largest_total)
      fail("buffer {} '{}' has {} bytes: expected 1 to 2^60", b, buffer.name, buffer.bytes);
    total += round_up(buffer.bytes, page_bytes);
    if (total > largest_total) fail("the buffers of graph '{}' exceed 2^60 bytes together", graph.name);
  }
  std::vector<std::int64_t> writer(graph.buffers.size(), -1);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const PlanOp& op = graph.ops[i];
    if (!std::isfinite(op.seconds) || op.seconds < 0 || op.seconds > 1e9)
      fail("op {} '{}' takes {} seconds: expected 0 to 1e9", i, op.name, op.seconds);
    if (op.workspace_bytes < 0 || op.workspace_bytes > largest_total)
      fail("op {} '{}' has {} workspace bytes: expected 0 to 2^60", i, op.name, op.workspace_bytes);
    check_operands(graph, i, writer);
  }
  for (std::size_t b = 0; b < graph.buffers.size(); ++b)
    if (graph.buffers[b].kind == BufferKind::output && writer[b] < 0)
      fail("output buffer {} '{}' is never written", b, graph.buffers[b].name);
}

bool same_structure(const PlanGraph& a, const PlanGraph& b) {
  return structure_difference(a, b).empty();
}

std::string structure_difference(const PlanGraph& graph, const PlanGraph& other) {
  if (graph.buffers.size() != other.buffers.size() || graph.ops.size() != other.ops.size())
    return fmt::format("it has {} buffers and {} ops, not {} and {}", other.buffers.size(), other.ops.size(),
                       graph.buffers.size(), graph.ops.size());
  for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
    const PlanBuffer &here = graph.buffers[i], &there = other.buffers[i];
    if (here.name != there.name)
      return fmt::format("buffer {} is '{}' there, '{}' here", i, there.name, here.name);
    if (here.bytes != there.bytes)
      return fmt::format("buffer '{}' has {} bytes there, {} here", here.name, there.bytes, here.bytes);
    if (here.kind != there.kind) return fmt::format("buffer '{}' is of another kind", here.name);
  }
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const PlanOp &here = graph.ops[i], &there = other.ops[i];
    if (here.name != there.name)
      return fmt::format("op {} is '{}' there, '{}' here", i, there.name, here.name);
    if (here.type != there.type || here.inputs != there.inputs || here.outputs != there.outputs ||
        here.recomputable != there.recomputable || here.inplace != there.inplace)
      return fmt::format("op '{}' has another type, other operands or other flags", here.name);
    if (here.workspace_bytes != there.workspace_bytes)
      return fmt::format(
          "op '{}' has {} workspace bytes there, {} here (workspaces are known once the ops are "
          "prepared on the device: plan from what `profile` writes)",
          here.name, there.workspace_bytes, here.workspace_bytes);
    if (!here.algorithm.empty() && !there.algorithm.empty() && here.algorithm != there.algorithm)
      return fmt::format("op '{}' takes '{}' there, '{}' here, which gives other bits", here.name,
                         there.algorithm, here.algorithm);
  }
  return {};
}

double total_seconds(const PlanGraph& graph) {
  double seconds = 0;
  for (const PlanOp& op : graph.ops) seconds += op.seconds;
  return seconds;
}

std::int64_t host_bytes_needed(const PlanGraph& graph, const std::vector<Instruction>& instructions) {
  std::vector<bool> hosted(graph.buffers.size(), false);
  for (const Instruction& i : instructions)
    if (i.kind != InstructionKind::run) hosted[static_cast<std::size_t>(i.target)] = true;
  std::int64_t bytes = 0;
  for (std::size_t b = 0; b < graph.buffers.size(); ++b) {
    const PlanBuffer& buffer = graph.buffers[b];
    const bool both_parities = buffer.kind == BufferKind::input || buffer.kind == BufferKind::output;
    if (hosted[b] || both_parities || is_persistent(buffer.kind))
      bytes += round_up(buffer.bytes, page_bytes) * (both_parities ? 2 : 1);
  }
  return bytes;
}

}  // namespace swapadvisor
