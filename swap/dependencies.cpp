#include <swapadvisor/swap/dependencies.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

namespace swapadvisor {
namespace {

// (before, after) pairs, repeats included.
std::vector<std::pair<std::int32_t, std::int32_t>> list_edges(const PlanGraph& graph) {
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  std::vector<std::int32_t> writer(graph.buffers.size(), -1);
  std::vector<std::vector<std::int32_t>> readers(graph.buffers.size());  // since the last write
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const auto op = static_cast<std::int32_t>(i);
    for (std::int32_t b : graph.ops[i].inputs)
      if (writer[static_cast<std::size_t>(b)] >= 0)
        edges.emplace_back(writer[static_cast<std::size_t>(b)], op);
    for (std::int32_t b : graph.ops[i].outputs) {
      const auto buffer = static_cast<std::size_t>(b);
      // A write follows all readers of the old value; they follow its writer.
      for (std::int32_t reader : readers[buffer]) edges.emplace_back(reader, op);
      if (readers[buffer].empty() && writer[buffer] >= 0) edges.emplace_back(writer[buffer], op);
      readers[buffer].clear();
      writer[buffer] = op;
    }
    for (std::int32_t b : graph.ops[i].inputs)
      if (writer[static_cast<std::size_t>(b)] != op) readers[static_cast<std::size_t>(b)].push_back(op);
  }
  return edges;
}

}  // namespace

Dependencies::Dependencies(const PlanGraph& graph) : predecessor_counts_(graph.ops.size(), 0) {
  auto edges = list_edges(graph);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  begin_.assign(graph.ops.size() + 1, 0);
  for (const auto& [before, after] : edges) {
    if (before == after) continue;
    ++begin_[static_cast<std::size_t>(before) + 1];
    ++predecessor_counts_[static_cast<std::size_t>(after)];
    successors_.push_back(after);
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  predecessors_begin_.resize(graph.ops.size());
  std::exclusive_scan(predecessor_counts_.begin(), predecessor_counts_.end(), predecessors_begin_.begin(), 0);
  predecessors_.resize(successors_.size());
  std::vector<std::int32_t> next = predecessors_begin_;
  for (std::size_t op = 0; op < graph.ops.size(); ++op)
    for (std::int32_t after : successors(static_cast<std::int32_t>(op)))
      predecessors_[static_cast<std::size_t>(next[static_cast<std::size_t>(after)]++)] =
          static_cast<std::int32_t>(op);
}

bool is_valid_order(const Dependencies& dependencies, std::span<const std::int32_t> order) {
  const std::size_t n = dependencies.op_count();
  if (order.size() != n) return false;
  std::vector<std::int32_t> position(n, -1);
  for (std::size_t p = 0; p < n; ++p) {
    const std::int32_t op = order[p];
    if (op < 0 || static_cast<std::size_t>(op) >= n || position[static_cast<std::size_t>(op)] >= 0)
      return false;
    position[static_cast<std::size_t>(op)] = static_cast<std::int32_t>(p);
  }
  for (std::size_t p = 0; p < n; ++p)
    for (std::int32_t after : dependencies.successors(order[p]))
      if (position[static_cast<std::size_t>(after)] < static_cast<std::int32_t>(p)) return false;
  return true;
}

std::vector<std::int32_t> given_order(const PlanGraph& graph) {
  std::vector<std::int32_t> order(graph.ops.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

namespace {

// `take` removes one op from the ready ones.
template <class Take>
std::vector<std::int32_t> order_by(const Dependencies& dependencies, bool last_successor_first,
                                   const Take& take) {
  const std::size_t n = dependencies.op_count();
  std::vector<std::int32_t> missing(dependencies.predecessor_counts().begin(),
                                    dependencies.predecessor_counts().end());
  std::deque<std::int32_t> ready;
  const auto add = [&](std::int32_t op) { ready.push_back(op); };
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t op = last_successor_first ? n - 1 - i : i;
    if (missing[op] == 0) add(static_cast<std::int32_t>(op));
  }
  std::vector<std::int32_t> order;
  while (!ready.empty()) {
    const std::int32_t op = take(ready);
    order.push_back(op);
    const auto successors = dependencies.successors(op);
    for (std::size_t k = 0; k < successors.size(); ++k) {
      const std::int32_t after = successors[last_successor_first ? successors.size() - 1 - k : k];
      if (--missing[static_cast<std::size_t>(after)] == 0) add(after);
    }
  }
  return order;
}

}  // namespace

std::vector<std::int32_t> depth_first_order(const Dependencies& dependencies) {
  return order_by(dependencies, true, [](std::deque<std::int32_t>& ready) {
    const std::int32_t op = ready.back();
    ready.pop_back();
    return op;
  });
}

std::vector<std::int32_t> breadth_first_order(const Dependencies& dependencies) {
  return order_by(dependencies, false, [](std::deque<std::int32_t>& ready) {
    const std::int32_t op = ready.front();
    ready.pop_front();
    return op;
  });
}

}  // namespace swapadvisor
