// Which ops must come before which, and orders that respect it.
#pragma once

#include <swapadvisor/core/plan_graph.h>

#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

/// Read-after-write, write-after-read and write-after-write in the graph's op list, as a directed acyclic
/// graph over ops. Made once per graph; read-only afterwards, so threads may share it.
class Dependencies {
 public:
  explicit Dependencies(const PlanGraph& graph);

  std::size_t op_count() const { return begin_.size() - 1; }
  /// Ops that must come after `op`, each once, ascending.
  std::span<const std::int32_t> successors(std::int32_t op) const {
    const auto o = static_cast<std::size_t>(op);
    return {successors_.data() + begin_[o], static_cast<std::size_t>(begin_[o + 1] - begin_[o])};
  }
  /// Ops that must come before `op`, each once, ascending.
  std::span<const std::int32_t> predecessors(std::int32_t op) const {
    const auto o = static_cast<std::size_t>(op);
    const auto count = static_cast<std::size_t>(predecessor_counts_[o]);
    return {predecessors_.data() + predecessors_begin_[o], count};
  }
  /// By op: how many predecessors.
  std::span<const std::int32_t> predecessor_counts() const { return predecessor_counts_; }

 private:
  std::vector<std::int32_t> begin_, successors_;
  std::vector<std::int32_t> predecessors_begin_, predecessor_counts_, predecessors_;
};

/// Whether `order` has every op once, each after all it depends on.
bool is_valid_order(const Dependencies& dependencies, std::span<const std::int32_t> order);

/// Orders that a search may start from. All hold every op once.
std::vector<std::int32_t> given_order(const PlanGraph& graph);
/// Runs what has become ready last first: follows a chain to its end before it starts the next.
std::vector<std::int32_t> depth_first_order(const Dependencies& dependencies);
/// Runs what has been ready longest first: level by level.
std::vector<std::int32_t> breadth_first_order(const Dependencies& dependencies);

}  // namespace swapadvisor
