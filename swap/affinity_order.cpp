#include <swapadvisor/swap/affinity_order.h>

#include <algorithm>
#include <limits>
#include <list>
#include <span>

namespace swapadvisor {
namespace {

/// The ready ops, and what is on the device.
class Greedy {
 public:
  Greedy(const OpTable& table, const Dependencies& dependencies, std::int64_t capacity,
         const AffinityWeights& weights)
      : table_(table),
        dependencies_(dependencies),
        capacity_(capacity),
        weights_(weights),
        missing_(table.op_count(), 0),
        uses_left_(table.buffer_count(), 0),
        resident_(table.buffer_count(), 0),
        place_(table.buffer_count()) {
    for (std::size_t op = 0; op < table.op_count(); ++op) {
      for (const OpTable::Operand& operand : table.operands(static_cast<std::int32_t>(op)))
        ++uses_left_[static_cast<std::size_t>(operand.buffer)];
      missing_[op] = static_cast<std::int32_t>(before(static_cast<std::int32_t>(op)).size());
      if (missing_[op] == 0) ready_.push_back(static_cast<std::int32_t>(op));
    }
  }

  std::vector<std::int32_t> run() {
    std::vector<std::int32_t> order;
    while (!ready_.empty()) {
      const std::int32_t op = take_cheapest();
      order.push_back(op);
      touch_operands(op);
      for (std::int32_t next : after(op))
        if (--missing_[static_cast<std::size_t>(next)] == 0) ready_.push_back(next);
    }
    if (weights_.from_end) std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  // In the direction in which the order is made.
  std::span<const std::int32_t> before(std::int32_t op) const {
    return weights_.from_end ? dependencies_.successors(op) : dependencies_.predecessors(op);
  }
  std::span<const std::int32_t> after(std::int32_t op) const {
    return weights_.from_end ? dependencies_.predecessors(op) : dependencies_.successors(op);
  }
  bool comes_first(std::int32_t a, std::int32_t b) const { return weights_.from_end ? a > b : a < b; }

  double cost(std::int32_t op) const {
    std::int64_t missing = 0, growth = 0;
    for (const OpTable::Operand& operand : table_.operands(op)) {
      const auto b = static_cast<std::size_t>(operand.buffer);
      const std::int64_t bytes = table_.bytes(operand.buffer);
      const bool made_elsewhere = weights_.from_end ? table_.persistent(operand.buffer) : operand.read;
      if (resident_[b] == 0) (made_elsewhere ? missing : growth) += bytes;
      if (uses_left_[b] == 1 && !table_.persistent(operand.buffer)) growth -= bytes;
    }
    return weights_.missing * static_cast<double>(missing) + weights_.growth * static_cast<double>(growth);
  }

  std::int32_t take_cheapest() {
    std::size_t best = 0;
    double best_cost = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < ready_.size(); ++k) {
      const double c = cost(ready_[k]);
      if (c > best_cost || (c == best_cost && !comes_first(ready_[k], ready_[best]))) continue;
      best = k;
      best_cost = c;
    }
    const std::int32_t op = ready_[best];
    ready_[best] = ready_.back();
    ready_.pop_back();
    return op;
  }

  void touch_operands(std::int32_t op) {
    for (const OpTable::Operand& operand : table_.operands(op)) {
      const auto b = static_cast<std::size_t>(operand.buffer);
      if (resident_[b] != 0)
        recent_.erase(place_[b]);
      else
        used_ += table_.bytes(operand.buffer);
      resident_[b] = 1;
      place_[b] = recent_.insert(recent_.end(), operand.buffer);
    }
    for (const OpTable::Operand& operand : table_.operands(op))
      if (--uses_left_[static_cast<std::size_t>(operand.buffer)] == 0 && !table_.persistent(operand.buffer))
        drop(operand.buffer);
    while (used_ > capacity_ && !recent_.empty()) drop(recent_.front());
  }

  void drop(std::int32_t buffer) {
    const auto b = static_cast<std::size_t>(buffer);
    if (resident_[b] == 0) return;
    recent_.erase(place_[b]);
    resident_[b] = 0;
    used_ -= table_.bytes(buffer);
  }

  const OpTable& table_;
  const Dependencies& dependencies_;
  std::int64_t capacity_, used_ = 0;
  AffinityWeights weights_;
  std::vector<std::int32_t> missing_, uses_left_, ready_;
  std::vector<std::uint8_t> resident_;
  std::list<std::int32_t> recent_;  // the least recently used first
  std::vector<std::list<std::int32_t>::iterator> place_;
};

}  // namespace

std::vector<std::int32_t> affinity_order(const OpTable& table, const Dependencies& dependencies,
                                         std::int64_t capacity, const AffinityWeights& weights) {
  return Greedy(table, dependencies, capacity, weights).run();
}

}  // namespace swapadvisor
