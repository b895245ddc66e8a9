// Minimum s–t cut of a directed graph with real capacities.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace swapadvisor {

/// Dinic's algorithm (Dinitz 1970). Capacities can be changed and the cut found again; nothing is allocated
/// then.
class MinCut {
 public:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  /// Nodes 0 … nodes − 1.
  explicit MinCut(std::int32_t nodes) : first_(static_cast<std::size_t>(nodes), -1) {}

  /// Returns the edge's number, for `set_capacity`. `capacity` ≥ 0, may be infinite.
  std::int32_t add_edge(std::int32_t from, std::int32_t to, double capacity);
  void set_capacity(std::int32_t edge, double capacity) {
    edges_[static_cast<std::size_t>(edge)].capacity = capacity;
  }

  /// The value of a minimum cut; infinite when every cut has an infinite edge.
  double solve(std::int32_t source, std::int32_t sink);
  /// After `solve`: whether the node is on the source's side of the minimum cut that has the fewest nodes
  /// there.
  bool on_source_side(std::int32_t node) const { return level_[static_cast<std::size_t>(node)] >= 0; }

 private:
  struct Edge {
    std::int32_t to = 0, next = -1;  // next edge of the same origin
    double capacity = 0, flow = 0;
  };

  bool find_levels(std::int32_t source, std::int32_t sink);
  double augment(std::int32_t source, std::int32_t sink);
  double left(const Edge& edge) const { return edge.capacity - edge.flow; }

  std::vector<Edge> edges_;  // edge e and its reverse e ^ 1
  std::vector<std::int32_t> first_, current_, level_, queue_, path_;
  double epsilon_ = 0;
};

}  // namespace swapadvisor
