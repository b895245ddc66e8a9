#include <swapadvisor/swap/genome.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace swapadvisor {

void cross_orders(std::span<const std::int32_t> a, std::span<const std::int32_t> b, std::size_t cut,
                  std::vector<std::int32_t>& child) {
  std::vector<std::uint8_t> taken(a.size(), 0);
  child.assign(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(cut));
  for (std::int32_t op : child) taken[static_cast<std::size_t>(op)] = 1;
  for (std::int32_t op : b)
    if (taken[static_cast<std::size_t>(op)] == 0) child.push_back(op);
}

// The ready ops are a heap by their place in the parent; heap_ holds those places.
void OrderMutation::apply(std::span<const std::int32_t> parent, double p, Draws& draws,
                          std::vector<std::int32_t>& child) {
  const std::size_t n = parent.size();
  parent_.assign(parent.begin(), parent.end());
  position_.resize(n);
  for (std::size_t k = 0; k < n; ++k)
    position_[static_cast<std::size_t>(parent[k])] = static_cast<std::int32_t>(k);
  missing_.assign(dependencies_->predecessor_counts().begin(), dependencies_->predecessor_counts().end());
  heap_.clear();
  for (std::size_t op = 0; op < n; ++op)
    if (missing_[op] == 0) add(static_cast<std::int32_t>(op));
  // The steps between two random choices are geometrically distributed: a draw per choice, not per step.
  const auto steps_to_choice = [&] {
    if (p <= 0) return std::numeric_limits<double>::infinity();
    return p >= 1 ? 0.0 : std::floor(std::log(draws.uniform()) / std::log1p(-p));
  };
  double left = steps_to_choice();
  child.clear();
  while (!heap_.empty()) {
    std::size_t choice = 0;
    if (left < 1) {
      choice = static_cast<std::size_t>(draws.below(static_cast<std::int32_t>(heap_.size())));
      left = steps_to_choice();
    } else {
      left -= 1;
    }
    const std::int32_t op = take(choice);
    child.push_back(op);
    for (std::int32_t after : dependencies_->successors(op))
      if (--missing_[static_cast<std::size_t>(after)] == 0) add(after);
  }
}

std::int32_t OrderMutation::take(std::size_t heap_index) {
  const std::int32_t op = parent_[static_cast<std::size_t>(heap_[heap_index])];
  heap_[heap_index] = heap_.back();
  heap_.pop_back();
  if (heap_index < heap_.size()) {
    sift_up(heap_index);
    sift_down(heap_index);
  }
  return op;
}

void OrderMutation::add(std::int32_t op) {
  heap_.push_back(position_[static_cast<std::size_t>(op)]);
  sift_up(heap_.size() - 1);
}

void OrderMutation::sift_up(std::size_t k) {
  for (; k > 0 && heap_[k] < heap_[(k - 1) / 2]; k = (k - 1) / 2) std::swap(heap_[k], heap_[(k - 1) / 2]);
}

void OrderMutation::sift_down(std::size_t k) {
  for (;;) {
    std::size_t least = k;
    for (std::size_t child : {2 * k + 1, 2 * k + 2})
      if (child < heap_.size() && heap_[child] < heap_[least]) least = child;
    if (least == k) return;
    std::swap(heap_[k], heap_[least]);
    k = least;
  }
}

}  // namespace swapadvisor
