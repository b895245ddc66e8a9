#include <swapadvisor/core/error.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/swap/affinity_order.h>
#include <swapadvisor/swap/genetic_search.h>
#include <swapadvisor/swap/joint_search.h>
#include <swapadvisor/swap/starts.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace swapadvisor {

// --- one candidate
// ---------------------------------------------------------------------------------------------

namespace {

PoolDemand demand_within(const PlanRequest& request) {
  PoolDemand demand(*request.graph);
  const std::int64_t need = pool_bytes(demand, smallest_pool(demand)), limit = request.device.memory_bytes;
  if (need > limit)
    fail("a size-class pool that holds every op {}", format_need(need, limit, "device memory"));
  return demand;
}

}  // namespace

JointPools::JointPools(const PlanRequest& request)
    : demand(demand_within(request)),
      operators(demand, count_alive(*request.graph, demand), request.device.memory_bytes) {}

JointEvaluator::JointEvaluator(const OpTable& table, const PlanRequest& request, const JointPools* pools)
    : table_(&table), walker_(table, request.device), waits_(table), simulator_(request.device) {
  if (pools != nullptr)
    pool_walker_.emplace(table, pools->demand,
                         PoolWalkOptions{.clean_eviction = request.parts.clean_eviction});
}

double JointEvaluator::walk(const JointCandidate& candidate, std::span<const Resident> start) {
  WalkRequest request;
  request.order = runs_;
  request.start = start;
  request.policy = candidate.policy;
  request.bias = candidate.bias;
  if (!count_evaluation()) return std::numeric_limits<double>::infinity();
  try {
    if (pool_walker_) {
      pool_walker_->set_order(runs_);
      pool_walker_->walk(candidate.pool, true);
    } else {
      walker_.walk(request);
    }
  } catch (const Error&) {
    // In this order some op cannot work in place, and does not fit without.
    return std::numeric_limits<double>::infinity();
  }
  waits_.infer(instructions(), flat_);
  return simulator_.iteration_seconds(flat_);
}

bool JointEvaluator::count_evaluation() {
  if (evaluations_ >= allowed_) return false;
  ++evaluations_;
  return true;
}

void JointEvaluator::make_runs(const JointCandidate& candidate) {
  if (candidate.again.empty())
    runs_ = candidate.order;
  else
    run_sequence(*table_, candidate.order, find_turn(*table_, candidate.order), candidate.again, runs_,
                 candidate.stays);
}

void JointEvaluator::evaluate(JointCandidate& candidate) {
  make_runs(candidate);
  candidate.seconds = walk(candidate, candidate.start);
}

void JointEvaluator::settle(JointCandidate& candidate, int passes, bool thorough) {
  if (pool_walker_) return evaluate(candidate);  // both passes in one
  make_runs(candidate);
  candidate.seconds = std::numeric_limits<double>::infinity();
  try_starts(
      walker_, passes, thorough,
      [&](const std::vector<Resident>& start) {
        const double seconds = walk(candidate, start);
        if (seconds < candidate.seconds) {
          candidate.seconds = seconds;
          candidate.start = start;
        }
        return std::isfinite(seconds);
      },
      [&](const std::vector<Resident>& start) {
        if (!count_evaluation()) return false;
        walker_.walk({runs_, start, false, candidate.policy, candidate.bias});
        return true;
      });
}

// --- the search
// ------------------------------------------------------------------------------------------------

JointSearch::JointSearch(const OpTable& table, const PlanRequest& request, const JointOptions& options)
    : table_(&table),
      request_(&request),
      parts_(request.parts),
      options_(options),
      pools_(request.parts.offsets ? nullptr : std::make_unique<JointPools>(request)),
      dependencies_(table.graph()),
      ideal_(total_seconds(table.graph())),
      budget_(request) {
  best_.seconds = std::numeric_limits<double>::infinity();
  for (int t = 0; t < std::max(1, request.threads); ++t)
    evaluators_.push_back(std::make_unique<JointEvaluator>(table, request, pools_.get()));
  const RecomputeChoice choice(table, given_order(table.graph()));
  for (std::size_t op = 0; op < table.op_count(); ++op)
    if (choice.eligible(static_cast<std::int32_t>(op))) toggles_.push_back(static_cast<std::int32_t>(op));
  for (std::size_t b = 0; b < table.buffer_count(); ++b)
    if (table.bytes(static_cast<std::int32_t>(b)) > request.device.memory_bytes / 4000)
      large_.push_back(static_cast<std::int32_t>(b));
}

bool JointSearch::done() const {
  if (best_.order.empty()) return false;
  return budget_.spent(report_.evaluations) || best_.seconds <= ideal_ * (1 + 1e-9);
}

void JointSearch::run() {
  budget_ = SearchBudget(*request_);
  try_orders();
  if (parts_.recompute) sweep_prices();
  evolve();
  report_.seconds = budget_.seconds();
  for (const auto& evaluator : evaluators_) evaluator->allow(std::numeric_limits<std::int64_t>::max());
}

// The first candidate of all is made whatever the clock says; then one begins only while there is time for
// it. Which are within the budget in evaluations is clear only when all are made; the last of them is made
// once more with what is left.
std::vector<JointCandidate> JointSearch::batch(std::size_t count, const Make& make) {
  std::vector<JointCandidate> made(count);
  if (done()) return made;
  const bool first = best_.order.empty();
  std::int64_t left = budget_.evaluations() - report_.evaluations;
  std::vector<std::int64_t> evaluations(count, 0);
  make_in_parallel(evaluators_, count, [&](std::size_t i, JointEvaluator& evaluator) {
    const bool must = first && i == 0;
    if (!must && budget_.interrupted()) return false;
    evaluator.allow(left);
    make(i, made[i], evaluator);
    evaluations[i] = evaluator.evaluations();
    return true;
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (made[i].order.empty()) continue;
    if (left == 0) made[i] = {};
    if (evaluations[i] > left) {
      evaluators_.front()->allow(left);
      make(i, made[i] = {}, *evaluators_.front());
      evaluations[i] = left;
    }
    if (made[i].order.empty()) continue;
    left -= evaluations[i];
    if (made[i].seconds < best_.seconds) best_ = made[i];
  }
  report_.evaluations = budget_.evaluations() - left;
  note_progress();
  return made;
}

// Candidates of equal seconds are nearly always the same plan.
void JointSearch::keep(std::vector<JointCandidate> candidates) {
  for (JointCandidate& candidate : candidates)
    if (!candidate.order.empty() && std::isfinite(candidate.seconds)) chains_.push_back(std::move(candidate));
  std::stable_sort(chains_.begin(), chains_.end(),
                   [](const JointCandidate& a, const JointCandidate& b) { return a.seconds < b.seconds; });
  chains_.erase(
      std::unique(chains_.begin(), chains_.end(),
                  [](const JointCandidate& a, const JointCandidate& b) { return a.seconds == b.seconds; }),
      chains_.end());
  chains_.resize(std::min(chains_.size(), static_cast<std::size_t>(options_.chains)));
}

void JointSearch::note_progress() {
  if (best_.order.empty()) return;
  if (report_.history.empty() || best_.seconds < report_.history.back().second)
    report_.history.emplace_back(budget_.seconds(), best_.seconds);
  if (request_->progress) request_->progress({budget_.seconds(), report_.evaluations, best_.seconds, ideal_});
}

namespace {

// What is left of a direction's speed when both copy.
double shared_link(const DeviceSpec& device) {
  const double both = device.h2d_bytes_per_second + device.d2h_bytes_per_second;
  return device.duplex_bytes_per_second > 0 ? std::min(1.0, device.duplex_bytes_per_second / both) : 1;
}

WalkPolicy policy_of(bool fit_copies, double link_share, double stall_weight, double lead,
                     double evicting_lead) {
  WalkPolicy policy;
  policy.fit_copies = fit_copies;
  policy.link_share = link_share;
  policy.stall_weight = stall_weight;
  policy.lead = lead;
  policy.evicting_lead = evicting_lead;
  return policy;
}

}  // namespace

// What a first candidate is, besides its order and policy, by what may be decided.
void JointSearch::settle_parts(JointCandidate& candidate, std::size_t i) const {
  candidate.policy.clean_eviction = parts_.clean_eviction;
  if (!parts_.eviction) candidate.policy.eviction = WalkPolicy::Eviction::distance;
  if (!pools_) return;
  Draws draws({request_->seed, static_cast<std::uint32_t>(i), 0xFFFFFFFE});
  const double spread = i == 0 ? 1 : 2;
  candidate.pool =
      pools_->operators.make(std::vector<bool>(pools_->demand.size_count(), true), spread, draws);
}

// Orders, each with a few weights of a stall, ways to list copies and leads of swap-ins.
void JointSearch::try_orders() {
  const double shared = shared_link(request_->device);
  const WalkPolicy policies[]{policy_of(true, shared, 30, 0.05, 0), policy_of(false, 1, 3, 0.05, 0),
                              policy_of(true, shared, 100, 0.3, 0.005), policy_of(true, 1, 30, 0.3, 0.02)};
  const std::vector<AffinityWeights> weights{{1, 1}, {1, 1, true},   {0, 1},         {1, 0.3},    {0.3, 1},
                                             {1, 0}, {1, 0.3, true}, {0.3, 1, true}, {1, 0, true}};
  std::vector<std::vector<std::int32_t>> orders{given_order(table_->graph())};
  const auto time_orders = [&](std::size_t from) {
    keep(batch((orders.size() - from) * std::size(policies),
               [&](std::size_t i, JointCandidate& candidate, JointEvaluator& evaluator) {
                 candidate.order = orders[from + i % (orders.size() - from)];
                 candidate.policy = policies[i / (orders.size() - from)];
                 settle_parts(candidate, i);
                 evaluator.settle(candidate, 4, true);
               }));
  };
  time_orders(0);
  if (best_.order.empty())
    Walker(*table_, request_->device).walk({orders.front(), {}});  // throws: an op does not fit
  if (parts_.recompute && !pools_) glance_at_recompute();
  if (!parts_.order || done()) return;
  orders.push_back(depth_first_order(dependencies_));
  for (const AffinityWeights& w : weights) {
    if (done()) break;
    orders.push_back(affinity_order(*table_, dependencies_, request_->device.memory_bytes, w));
  }
  time_orders(1);
}

// Where much has to be made again, any other order without that is of no use as a first plan: a few prices,
// before the rest of the orders takes its time. Only the best is kept.
void JointSearch::glance_at_recompute() {
  constexpr std::int32_t prices = 8;
  if (done()) return;
  const std::vector<JointCandidate> chains = chains_;
  const JointCandidate parent = chains_.front();
  RecomputeChoice choice(*table_, parent.order);
  if (!choice.any_eligible()) return;
  const double low = std::log(choice.lowest_price()), high = std::log(choice.highest_price());
  RecomputeStyle style{chain_lengths[1], stays_steps[0], true, shared_link(request_->device)};
  std::vector<PricedStyle> to_try;
  for (std::int32_t k = 0; k < prices; ++k)
    to_try.push_back({low + (high - low) * (k + 0.5) / prices, 0, &style});
  try_styles(parent, choice, to_try);
  chains_ = chains;
}

// Prices from where nothing is worth running again to where everything is, in an order that halves the gaps,
// in every style; once these are told apart, in the best styles only, falling and rising along the order too.
void JointSearch::sweep_prices() {
  constexpr std::array tilts{0.0, -1.0, -2.0, 1.0, -4.0, 2.0};
  constexpr std::int32_t levels = 7, flat_levels = 4;
  constexpr std::size_t best_styles = 3;
  constexpr double share_per_parent = 0.15;  // of the budget, beyond which no level begins
  const double shared = shared_link(request_->device);
  std::vector<RecomputeStyle> ways{{0, stays_steps[0], true, shared},
                                   {0, stays_steps[0], true, 1},
                                   {0, stays_steps[1], true, shared},
                                   {0, stays_steps[0], false, 1}};
  if (pools_)  // lists copies its own way
    ways = {{0, stays_steps[0], false, 1}, {0, stays_steps[1], false, 1}, {0, stays_steps[2], false, 1}};
  double share = budget_.share(report_.evaluations);
  const auto parents = static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, chains_.size()));
  for (const JointCandidate& parent :
       std::vector<JointCandidate>(chains_.begin(), chains_.begin() + parents)) {
    RecomputeChoice choice(*table_, parent.order);
    if (!choice.any_eligible()) return;
    const double low = std::log(choice.lowest_price()) - 3, high = std::log(choice.highest_price()) + 3;
    std::vector<RecomputeStyle> styles;
    for (std::size_t chain = 0; chain < 5; ++chain)
      for (const RecomputeStyle& way : ways)
        styles.push_back(way), styles.back().longest_chain = chain_lengths[chain];
    share += share_per_parent;
    for (std::int32_t level = 0; level < levels && !done(); ++level) {
      if (level > 0 && budget_.share(report_.evaluations) > share) break;
      if (level == flat_levels) {
        std::stable_sort(styles.begin(), styles.end(), [](const RecomputeStyle& a, const RecomputeStyle& b) {
          return a.best_seconds < b.best_seconds;
        });
        styles.resize(best_styles);
      }
      std::vector<PricedStyle> to_try;
      for (std::int32_t k = 1; k < 1 << level; k += 2)
        for (std::size_t tilt = 0; tilt < (level < flat_levels ? 1 : tilts.size()); ++tilt)
          for (RecomputeStyle& style : styles)
            to_try.push_back({low + (high - low) * k / (1 << level), tilts[tilt], &style});
      try_styles(parent, choice, to_try);
    }
  }
}

void JointSearch::try_styles(const JointCandidate& parent, RecomputeChoice& choice,
                             std::span<const PricedStyle> to_try) {
  constexpr std::size_t at_a_time = 32;  // candidates of large graphs are large
  for (std::size_t begin = 0; begin < to_try.size() && !done(); begin += at_a_time) {
    const auto part = to_try.subspan(begin, std::min(at_a_time, to_try.size() - begin));
    std::vector<JointCandidate> sets(part.size(), parent);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto& [log_price, tilt, style] = part[i];
      choice.price_line(std::array{log_price - tilt / 2, log_price + tilt / 2}, sets[i].prices);
      sets[i].longest_chain = style->longest_chain;
      sets[i].policy.fit_copies = style->fit_copies;
      sets[i].policy.link_share = style->link_share;
      if (style->stays != stays_for_good) sets[i].stays.assign(table_->op_count(), style->stays);
      choice.choose(sets[i].prices, sets[i].longest_chain, sets[i].again);
    }
    std::vector<JointCandidate> made =
        batch(sets.size(), [&](std::size_t i, JointCandidate& candidate, JointEvaluator& evaluator) {
          candidate = sets[i];
          evaluator.settle(candidate, 2);
        });
    for (std::size_t i = 0; i < made.size(); ++i)
      if (!made[i].order.empty())
        part[i].style->best_seconds = std::min(part[i].style->best_seconds, made[i].seconds);
    keep(std::move(made));
  }
}

// Simulated annealing, several chains side by side; a chain that has fallen behind starts again from the
// best.
void JointSearch::evolve() {
  constexpr double first_temperature = 3e-3, last_temperature = 3e-5;  // of the seconds
  constexpr std::int32_t cycle = 150;                                  // generations from first to last
  const auto proposals = static_cast<std::size_t>(options_.proposals);
  drop_recomputes();
  for (; !done(); ++generation_) {
    const double cooled = static_cast<double>(generation_ % cycle) / cycle;
    accept(batch(chains_.size() * proposals,
                 [&](std::size_t i, JointCandidate& child, JointEvaluator& evaluator) {
                   Draws draws({request_->seed, static_cast<std::uint32_t>(i),
                                static_cast<std::uint32_t>(generation_)});
                   child = chains_[i / proposals];
                   mutate(child, draws, evaluator);
                   if (draws.chance(0.1))
                     evaluator.settle(child, 2);
                   else
                     evaluator.evaluate(child);
                 }),
           first_temperature * std::pow(last_temperature / first_temperature, cooled));
    if (generation_ % cycle != cycle - 1) continue;
    drop_recomputes();
    for (std::size_t c = 0; c < chains_.size(); c += 2) chains_[c] = best_;
  }
}

void JointSearch::accept(std::vector<JointCandidate> proposals, double temperature) {
  Draws draws({request_->seed, 0xFFFFFFFF, static_cast<std::uint32_t>(generation_)});
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    JointCandidate& chain = chains_[i / static_cast<std::size_t>(options_.proposals)];
    const double luck = draws.uniform();
    if (proposals[i].order.empty()) continue;
    const double worse = (proposals[i].seconds - chain.seconds) / (ideal_ * temperature);
    if (worse <= 0 || luck < std::exp(-worse)) chain = std::move(proposals[i]);
  }
}

}  // namespace swapadvisor
