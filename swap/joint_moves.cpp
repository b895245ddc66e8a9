// How the joint search changes a candidate.
#include <swapadvisor/swap/joint_search.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// Standard normal, roughly: enough for steps of a search.
double bell(Draws& draws) {
  double sum = -2;
  for (int k = 0; k < 4; ++k) sum += draws.uniform();
  return sum * 1.732;
}

}  // namespace

void JointSearch::mutate(JointCandidate& child, Draws& draws, JointEvaluator& evaluator) {
  const int moves = 1 + (draws.chance(0.3) ? draws.below(3) : 0);
  for (int move = 0; move < moves; ++move) {
    const double kind = draws.uniform();
    if (kind < 0.4 && parts_.recompute && !toggles_.empty())
      mutate_recompute(child, draws, evaluator);
    else if (kind < 0.65 && parts_.order)
      mutate_order(child, draws);
    else
      mutate_placement(child, draws);
  }
}

void JointSearch::mutate_placement(JointCandidate& child, Draws& draws) {
  if (pools_) return pools_->operators.mutate(child.pool, draws);
  const double kind = draws.uniform();
  if (kind < 0.45 && parts_.eviction)
    bias_buffers(child, draws);
  else if (kind < 0.6 && parts_.eviction)
    child.policy.stall_weight = std::clamp(child.policy.stall_weight * std::exp(bell(draws)), 0.1, 1000.0);
  else if (kind < 0.7)
    change_lead(child.policy, draws);
  else if (kind < 0.9)
    change_start(child, draws);
  else if (kind < 0.97)
    child.policy.link_share = std::clamp(child.policy.link_share * std::exp(0.1 * bell(draws)), 0.5, 1.1);
  else
    child.policy.fit_copies = !child.policy.fit_copies;
}

// How long before it is needed room for a swap-in should be free.
void JointSearch::change_lead(WalkPolicy& policy, Draws& draws) {
  constexpr double least = 1e-3, most = 1;  // of the iteration; less than `least`: none
  double& lead = draws.chance(0.5) ? policy.lead : policy.evicting_lead;
  if (draws.chance(0.1))
    lead = 0;
  else
    lead = std::min(most, std::max(lead, least) * std::exp(bell(draws)));
  if (lead < least) lead = 0;
}

void JointSearch::mutate_order(JointCandidate& child, Draws& draws) {
  const double kind = draws.uniform();
  if (kind < 0.5) return move_op(child, draws);
  if (kind < 0.8) return pull_op(child, draws);
  std::vector<std::int32_t> order;
  OrderMutation(dependencies_).apply(child.order, std::exp2(-5 - 7 * draws.uniform()), draws, order);
  child.order.swap(order);
}

// One op comes earlier, and with it what it needs; or later, and with it what needs it.
void JointSearch::pull_op(JointCandidate& child, Draws& draws) {
  std::vector<std::int32_t>& order = child.order;
  const auto n = static_cast<std::int32_t>(order.size());
  const std::int32_t at = draws.below(n);
  const std::int32_t distance = 1 + draws.below(std::max(1, n / (draws.chance(0.5) ? 4 : 32)));
  std::vector<std::uint8_t> comes_along(order.size(), 0);
  comes_along[index(order[index(at)])] = 1;
  const auto along = [&](std::int32_t op) { return comes_along[index(op)] != 0; };
  if (draws.chance(0.5)) {
    const std::int32_t first = std::max(0, at - distance);
    for (std::int32_t p = at; p >= first; --p)
      if (along(order[index(p)]))
        for (std::int32_t before : dependencies_.predecessors(order[index(p)]))
          comes_along[index(before)] = 1;
    std::stable_partition(order.begin() + first, order.begin() + at + 1, along);
  } else {
    const std::int32_t last = std::min(n - 1, at + distance);
    for (std::int32_t p = at; p <= last; ++p)
      if (along(order[index(p)]))
        for (std::int32_t after : dependencies_.successors(order[index(p)])) comes_along[index(after)] = 1;
    std::stable_partition(order.begin() + at, order.begin() + last + 1,
                          [&](std::int32_t op) { return !along(op); });
  }
}

// One op goes as far as dependencies and chance let it, earlier or later.
void JointSearch::move_op(JointCandidate& child, Draws& draws) {
  std::vector<std::int32_t>& order = child.order;
  const auto n = static_cast<std::int32_t>(order.size());
  std::int32_t at = draws.below(n);
  const std::int32_t op = order[index(at)];
  std::int32_t left = 1 + draws.below(draws.chance(0.5) ? 8 : std::max(1, n / 8));
  const auto depends = [&](std::int32_t before, std::int32_t after) {
    const auto successors = dependencies_.successors(before);
    return std::binary_search(successors.begin(), successors.end(), after);
  };
  if (draws.chance(0.5)) {
    for (; left > 0 && at > 0 && !depends(order[index(at - 1)], op); --left, --at)
      order[index(at)] = order[index(at - 1)];
  } else {
    for (; left > 0 && at + 1 < n && !depends(op, order[index(at + 1)]); --left, ++at)
      order[index(at)] = order[index(at + 1)];
  }
  order[index(at)] = op;
}

void JointSearch::mutate_recompute(JointCandidate& child, Draws& draws, JointEvaluator& evaluator) {
  const double kind = draws.uniform();
  if (kind < 0.35)
    toggle_recompute(child, draws);
  else if (kind < 0.5)
    exchange_recomputes(child, draws);
  else if (kind < 0.65)
    change_stays(child, draws);
  else
    change_prices(child, draws, evaluator);
}

void JointSearch::toggle_recompute(JointCandidate& child, Draws& draws) {
  if (child.again.empty()) child.again.assign(table_->op_count(), 0);
  const auto count = static_cast<std::int32_t>(toggles_.size());
  const std::int32_t first = draws.below(count);
  const std::uint8_t value = child.again[index(toggles_[index(first)])] != 0 ? 0 : 1;
  // Neighbours in the list belong to one layer, mostly.
  const std::int32_t stretch = draws.chance(0.5) ? 1 : 1 + draws.below(6);
  for (std::int32_t k = first; k < std::min(count, first + stretch); ++k)
    child.again[index(toggles_[index(k)])] = value;
}

// One op runs again in place of another: the closest of those that may, from some place of the list on.
void JointSearch::exchange_recomputes(JointCandidate& child, Draws& draws) {
  if (child.again.empty()) return toggle_recompute(child, draws);
  const auto count = static_cast<std::int32_t>(toggles_.size());
  std::int32_t place = draws.below(count);
  for (const std::uint8_t wanted : {std::uint8_t{1}, std::uint8_t{0}}) {
    std::int32_t k = 0;
    while (k < count && child.again[index(toggles_[index((place + k) % count)])] != wanted) ++k;
    if (k == count) return;
    place = (place + k) % count;
    child.again[index(toggles_[index(place)])] = wanted == 0 ? 1 : 0;
    const std::int32_t reach = draws.chance(0.5) ? std::min(count, 16) : count;
    place = (place + 1 + draws.below(reach)) % count;
  }
}

// Around some place of the order, or everywhere.
void JointSearch::change_stays(JointCandidate& child, Draws& draws) {
  if (child.stays.empty()) child.stays.assign(table_->op_count(), stays_for_good);
  const auto count = static_cast<std::int32_t>(toggles_.size());
  const std::int32_t first = draws.below(count);
  const std::int32_t stretch = draws.chance(0.2) ? count : 1 + draws.below(draws.chance(0.5) ? 10 : count);
  const std::int32_t steps = stays_steps[index(draws.below(static_cast<std::int32_t>(stays_steps.size())))];
  for (std::int32_t k = first; k < std::min(count, first + stretch); ++k)
    child.stays[index(toggles_[index(k)])] = steps;
}

// Changes prices everywhere, around some place, here and there or where the plan waits for the link, or how
// long chains may be; and chooses anew.
void JointSearch::change_prices(JointCandidate& child, Draws& draws, JointEvaluator& evaluator) {
  RecomputeChoice choice(*table_, child.order);
  if (!choice.any_eligible()) return;
  if (child.prices.empty())
    choice.price_line(std::array{std::log(choice.lowest_price() * choice.highest_price()) / 2}, child.prices);
  const double step = 0.5 * std::exp(bell(draws)) * bell(draws);
  const double kind = draws.uniform();
  if (kind < 0.2) {
    for (double& price : child.prices) price *= std::exp(step);
  } else if (kind < 0.6) {
    const double centre = draws.uniform(), width = std::exp(-1 - 3 * draws.uniform());
    for (std::size_t b = 0; b < child.prices.size(); ++b) {
      const double away = (choice.place(static_cast<std::int32_t>(b)) - centre) / width;
      child.prices[b] *= std::exp(2 * step * std::exp(-away * away));
    }
  } else if (kind < 0.7) {
    for (double& price : child.prices) price *= std::exp(0.2 * bell(draws));
  } else if (kind < 0.85) {
    evaluator.price_waits(child, std::abs(step));
  } else {
    child.longest_chain = chain_lengths[index(draws.below(static_cast<std::int32_t>(chain_lengths.size())))];
  }
  choice.choose(child.prices, child.longest_chain, child.again);
}

void JointSearch::bias_buffers(JointCandidate& child, Draws& draws) {
  if (large_.empty()) return;
  if (child.bias.empty()) child.bias.assign(table_->buffer_count(), 1);
  const std::int32_t changes = 1 + draws.below(4);
  for (std::int32_t k = 0; k < changes; ++k) {
    float& bias = child.bias[index(large_[index(draws.below(static_cast<std::int32_t>(large_.size())))])];
    bias = std::clamp(bias * static_cast<float>(std::exp(1.5 * bell(draws))), 0.01F, 100.0F);
  }
}

// Something less stays at the boundary.
void JointSearch::change_start(JointCandidate& child, Draws& draws) {
  if (child.start.empty()) return;
  const auto at = draws.below(static_cast<std::int32_t>(child.start.size()));
  child.start.erase(child.start.begin() + at);
}

}  // namespace swapadvisor
