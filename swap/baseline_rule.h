// What the baselines share: how a rule sees a graph, and how it becomes a Program.
#pragma once

#include <swapadvisor/swap/plan_builder.h>
#include <swapadvisor/swap/recompute.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace swapadvisor {

/// A graph in its given order, as rules see it. The graph must outlive it.
struct RuleGraph {
  explicit RuleGraph(const PlanGraph& graph);
  RuleGraph(const RuleGraph&) = delete;  // its members point to each other
  RuleGraph& operator=(const RuleGraph&) = delete;

  OpTable table;
  std::vector<std::int32_t> order;
  RecomputeChoice recompute;
  std::int32_t turn = 0;                ///< step: forward ops come before
  std::vector<std::uint8_t> expensive;  ///< by op: convolution-like
};

/// Convolution-like ops cost far more than moving their operands through device memory: convolutions, matrix
/// products, fully connected and attention layers. Cheap are activations, normalisation, pooling, dropout,
/// softmax, elementwise ops. Types that are neither by name are expensive when they take over four times as
/// long as the fastest mover of bytes in the graph would for their operands.
std::vector<std::uint8_t> expensive_ops(const PlanGraph& graph);

/// What a rule makes of a graph.
struct Rule {
  std::vector<std::int32_t> runs;
  std::vector<ForcedSwap> swaps;
};

/// A value that is neither read nor written between two steps, and read at the second.
struct Gap {
  std::int32_t buffer = 0;
  std::int32_t after = 0, use = 0;  ///< steps
  std::int32_t written = -1;  ///< step of the value's last write before; -1: it comes from the host store
  bool read_before = false;   ///< the use at `after` reads it
};

/// Gaps within one iteration of what is not persistent, by `after`.
std::vector<Gap> find_gaps(const OpTable& table, std::span<const std::int32_t> runs);

/// By step: the first step of its layer. Behind the turn, ops close to each other that read the same gradient
/// (as the two of a convolution's backward do) are one layer; before it, each op is.
std::vector<std::int32_t> layer_starts(const OpTable& table, std::span<const std::int32_t> runs,
                                       std::int32_t turn);

/// Plans by each of the rules (one at least), persistent buffers staying on the device as far as they fit,
/// and returns the fastest in which the rule moves three quarters of the bytes at least; if there is none,
/// the one with the fewest bytes of fallback. A rule whose repeated runs make an op larger than the limit
/// gives way to the given order. Where a rule does nothing and everything fits, that is the plan. Throws
/// `Error` when one op alone does not fit.
Program plan_by_rules(const PlanRequest& request, const std::string& name, const RuleGraph& graph,
                      std::span<const Rule> rules, const WalkPolicy& policy = {});

}  // namespace swapadvisor
