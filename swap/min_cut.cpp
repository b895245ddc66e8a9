#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/min_cut.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor {

std::int32_t MinCut::add_edge(std::int32_t from, std::int32_t to, double capacity) {
  const auto edge = static_cast<std::int32_t>(edges_.size());
  edges_.push_back({to, first_[static_cast<std::size_t>(from)], capacity, 0});
  first_[static_cast<std::size_t>(from)] = edge;
  edges_.push_back({from, first_[static_cast<std::size_t>(to)], 0, 0});
  first_[static_cast<std::size_t>(to)] = edge + 1;
  return edge;
}

double MinCut::solve(std::int32_t source, std::int32_t sink) {
  double largest = 0;
  for (Edge& edge : edges_) {
    edge.flow = 0;
    SWAPADVISOR_ASSERT(edge.capacity >= 0, "the capacity {} of an edge is no capacity", edge.capacity);
    if (std::isfinite(edge.capacity)) largest = std::max(largest, edge.capacity);
  }
  epsilon_ = largest * 1e-12;  // what rounding leaves of a full edge is no way through
  double flow = 0;
  while (find_levels(source, sink)) {
    current_ = first_;
    for (;;) {
      const double added = augment(source, sink);
      if (added <= 0) break;
      if (!std::isfinite(added)) return infinite;
      flow += added;
    }
  }
  return flow;
}

bool MinCut::find_levels(std::int32_t source, std::int32_t sink) {
  level_.assign(first_.size(), -1);
  queue_.assign(1, source);
  level_[static_cast<std::size_t>(source)] = 0;
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const std::int32_t node = queue_[head];
    for (std::int32_t e = first_[static_cast<std::size_t>(node)]; e >= 0;
         e = edges_[static_cast<std::size_t>(e)].next) {
      const Edge& edge = edges_[static_cast<std::size_t>(e)];
      if (left(edge) <= epsilon_ || level_[static_cast<std::size_t>(edge.to)] >= 0) continue;
      level_[static_cast<std::size_t>(edge.to)] = level_[static_cast<std::size_t>(node)] + 1;
      queue_.push_back(edge.to);
    }
  }
  return level_[static_cast<std::size_t>(sink)] >= 0;
}

// One path from source to sink in the level graph, without recursion: paths can be as long as the graph.
double MinCut::augment(std::int32_t source, std::int32_t sink) {
  path_.clear();
  std::int32_t node = source;
  while (node != sink) {
    std::int32_t& e = current_[static_cast<std::size_t>(node)];
    while (e >= 0) {
      const Edge& edge = edges_[static_cast<std::size_t>(e)];
      if (left(edge) > epsilon_ &&
          level_[static_cast<std::size_t>(edge.to)] == level_[static_cast<std::size_t>(node)] + 1)
        break;
      e = edge.next;
    }
    if (e >= 0) {
      path_.push_back(e);
      node = edges_[static_cast<std::size_t>(e)].to;
      continue;
    }
    if (path_.empty()) return 0;
    // A dead end: back, and not again.
    const std::int32_t back = path_.back();
    path_.pop_back();
    node = edges_[static_cast<std::size_t>(back ^ 1)].to;
    current_[static_cast<std::size_t>(node)] = edges_[static_cast<std::size_t>(back)].next;
  }
  double added = infinite;
  for (std::int32_t e : path_) added = std::min(added, left(edges_[static_cast<std::size_t>(e)]));
  if (!std::isfinite(added)) return infinite;
  for (std::int32_t e : path_) {
    edges_[static_cast<std::size_t>(e)].flow += added;
    edges_[static_cast<std::size_t>(e ^ 1)].flow -= added;
  }
  return added;
}

}  // namespace swapadvisor
