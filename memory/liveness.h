// Liveness: from which op to which op each value must stay on the device when nothing is swapped.
#pragma once

#include <swapadvisor/core/plan_graph.h>

#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

/// One allocation: a buffer from the op that brings its value to the last op that reads it. A temporary that
/// is overwritten without being read has several, one per value. Positions are indices into the order, both
/// included.
struct LiveRange {
  std::int32_t buffer = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Live ranges of a graph in some order.
struct Liveness {
  std::vector<LiveRange> ranges;
  /// Range of every operand: op at position p has its inputs, then its outputs, at operand_begin[p] and on.
  std::vector<std::int32_t> operand_begin;
  std::vector<std::int32_t> operand_range;
};

/// Persistent, input and output buffers live through the whole iteration (the copies of the next and the
/// previous iteration overlap with it); temporaries from a write to the last read before the next
/// overwriting. `order` holds every op once.
Liveness live_ranges(const PlanGraph& graph, std::span<const std::int32_t> order);

/// An output that takes the address of an input of equal bytes which dies at the op; operand indices, -1 for
/// none.
struct InplacePair {
  std::int32_t input = -1;   ///< index into op.inputs
  std::int32_t output = -1;  ///< index into op.outputs
  bool any() const { return input >= 0; }
};

/// The pair that saves most, if the op allows one. `dies(k)`: the value of op.inputs[k] is dead after this
/// op. Persistent and output buffers never lend their place, nor does an input that is an operand twice.
template <class Dies>
InplacePair inplace_pair(const PlanGraph& graph, const PlanOp& op, const Dies& dies) {
  InplacePair best;
  if (!op.inplace) return best;
  std::int64_t best_bytes = 0;
  const auto buffer = [&](std::int32_t b) -> const PlanBuffer& {
    return graph.buffers[static_cast<std::size_t>(b)];
  };
  const auto count = [](const std::vector<std::int32_t>& list, std::int32_t b) {
    int n = 0;
    for (std::int32_t x : list) n += x == b;
    return n;
  };
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const std::int32_t in = op.inputs[i];
    const PlanBuffer& donor = buffer(in);
    if (donor.kind != BufferKind::temporary && donor.kind != BufferKind::input) continue;
    if (donor.bytes <= best_bytes || count(op.inputs, in) > 1 || count(op.outputs, in) > 0 || !dies(i))
      continue;
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      const std::int32_t out = op.outputs[o];
      if (buffer(out).bytes != donor.bytes || count(op.inputs, out) > 0) continue;
      best = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(o)};
      best_bytes = donor.bytes;
      break;
    }
  }
  return best;
}

/// Bytes that the neediest op takes alone, in place where it may, when ops run in the graph's own order: no
/// plan in that order needs less.
std::int64_t largest_op_bytes(const PlanGraph& graph);

}  // namespace swapadvisor
