#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/affinity_order.h>
#include <swapadvisor/swap/joint_search.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

namespace swapadvisor {

// --- one candidate
// ---------------------------------------------------------------------------------------------

double JointEvaluator::walk(const JointCandidate& candidate, std::span<const Resident> start) {
  WalkRequest request;
  request.order = runs_;
  request.start = start;
  request.policy = candidate.policy;
  request.bias = candidate.bias;
  ++evaluations_;
  try {
    walker_.walk(request);
  } catch (const Error&) {
    // In this order some op cannot work in place, and does not fit without.
    return std::numeric_limits<double>::infinity();
  }
  waits_.infer(walker_.instructions(), flat_);
  return simulator_.iteration_seconds(flat_);
}

void JointEvaluator::make_runs(const JointCandidate& candidate) {
  if (candidate.again.empty())
    runs_ = candidate.order;
  else
    run_sequence(*table_, candidate.order, find_turn(*table_, candidate.order), candidate.again, runs_);
}

void JointEvaluator::evaluate(JointCandidate& candidate) {
  make_runs(candidate);
  candidate.seconds = walk(candidate, candidate.start);
}

void JointEvaluator::settle(JointCandidate& candidate, int passes, bool thorough) {
  make_runs(candidate);
  candidate.seconds = std::numeric_limits<double>::infinity();
  const auto by_offset = [](const Resident& a, const Resident& b) { return a.offset < b.offset; };
  const auto same = [](std::span<const Resident> a, std::span<const Resident> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Resident& x, const Resident& y) {
      return x.buffer == y.buffer && x.offset == y.offset && x.dirty == y.dirty;
    });
  };
  const auto try_start = [&](const std::vector<Resident>& start) {
    const double seconds = walk(candidate, start);
    if (seconds < candidate.seconds) {
      candidate.seconds = seconds;
      candidate.start = start;
    }
    return std::isfinite(seconds);
  };
  if (!try_start({})) return;
  const std::vector<Resident> first(walker_.residents_at_last_op().begin(),
                                    walker_.residents_at_last_op().end());
  std::vector<Resident> start = first, next;
  for (int pass = 0; pass < passes && !start.empty(); ++pass) {
    if (!try_start(start)) break;
    next.assign(walker_.residents_worth_keeping().begin(), walker_.residents_worth_keeping().end());
    std::sort(next.begin(), next.end(), by_offset);
    if (same(start, next)) break;
    start = next;
  }
  if (!thorough) return;
  // Or follow where the walk itself ends, hoping that it settles.
  start = first;
  for (int pass = 0; pass < passes && !start.empty(); ++pass) {
    ++evaluations_;
    walker_.walk({runs_, start, false, candidate.policy, candidate.bias});
    next.assign(walker_.residents_at_last_op().begin(), walker_.residents_at_last_op().end());
    if (same(start, next)) break;
    start = next;
    if (!try_start(start)) break;
  }
}

// --- the search
// ------------------------------------------------------------------------------------------------

JointSearch::JointSearch(const OpTable& table, const PlanRequest& request, const JointOptions& options)
    : table_(&table),
      request_(&request),
      options_(options),
      dependencies_(table.graph()),
      ideal_(total_seconds(table.graph())) {
  best_.seconds = std::numeric_limits<double>::infinity();
  for (int t = 0; t < std::max(1, request.threads); ++t)
    evaluators_.push_back(std::make_unique<JointEvaluator>(table, request.device));
  const RecomputeChoice choice(table, given_order(table.graph()));
  for (std::size_t op = 0; op < table.op_count(); ++op)
    if (choice.eligible(static_cast<std::int32_t>(op))) toggles_.push_back(static_cast<std::int32_t>(op));
  for (std::size_t b = 0; b < table.buffer_count(); ++b)
    if (table.bytes(static_cast<std::int32_t>(b)) > request.device.memory_bytes / 4000)
      large_.push_back(static_cast<std::int32_t>(b));
}

double JointSearch::seconds_passed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool JointSearch::done() const {
  constexpr std::int64_t default_evaluations = 1000;
  if (best_.order.empty()) return false;
  if (request_->stop.stop_requested()) return true;
  if (request_->search_seconds > 0 && seconds_passed() >= request_->search_seconds) return true;
  const std::int64_t most = request_->search_evaluations > 0 ? request_->search_evaluations
                            : request_->search_seconds > 0   ? std::numeric_limits<std::int64_t>::max()
                                                             : default_evaluations;
  return report_.evaluations >= most || best_.seconds <= ideal_ * (1 + 1e-9);
}

void JointSearch::run() {
  start_ = std::chrono::steady_clock::now();
  try_orders();
  if (options_.recompute) sweep_prices();
  evolve();
  report_.seconds = seconds_passed();
}

// The first candidate of all is made whatever the budget; then a candidate begins only while there is budget
// for it.
std::vector<JointCandidate> JointSearch::batch(std::size_t count, const Make& make) {
  std::vector<JointCandidate> made(count);
  if (done()) return made;
  std::atomic<std::size_t> next{0};
  const bool first = best_.order.empty();
  const auto work = [&](JointEvaluator& evaluator) {
    for (std::size_t i = next++; i < count; i = next++) {
      const bool must = first && i == 0;
      if (!must && (request_->stop.stop_requested() ||
                    (request_->search_seconds > 0 && seconds_passed() >= request_->search_seconds)))
        return;
      if (!make(i, made[i], evaluator)) made[i].order.clear();
    }
  };
  std::int64_t before = 0, after = 0;
  for (const auto& evaluator : evaluators_) before += evaluator->evaluations();
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 1; t < evaluators_.size(); ++t)
      threads.emplace_back(work, std::ref(*evaluators_[t]));
    work(*evaluators_.front());
  }
  for (const auto& evaluator : evaluators_) after += evaluator->evaluations();
  report_.evaluations += after - before;
  for (const JointCandidate& candidate : made)
    if (!candidate.order.empty() && candidate.seconds < best_.seconds) best_ = candidate;
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
    report_.history.emplace_back(seconds_passed(), best_.seconds);
  if (request_->progress) request_->progress({seconds_passed(), report_.evaluations, best_.seconds, ideal_});
}

// Orders, each with a few weights of a stall.
void JointSearch::try_orders() {
  constexpr std::array stall_weights{30.0, 3.0, 100.0};
  std::vector<AffinityWeights> weights{{1, 1}, {0, 1}, {1, 0.3}, {0.3, 1}, {1, 0}};
  std::vector<std::vector<std::int32_t>> orders{given_order(table_->graph())};
  const auto time_orders = [&](std::size_t from) {
    keep(batch((orders.size() - from) * stall_weights.size(),
               [&](std::size_t i, JointCandidate& candidate, JointEvaluator& evaluator) {
                 candidate.order = orders[from + i % (orders.size() - from)];
                 candidate.policy.stall_weight = stall_weights[i / (orders.size() - from)];
                 evaluator.settle(candidate, 4, true);
                 return true;
               }));
  };
  time_orders(0);
  if (best_.order.empty())
    Walker(*table_, request_->device).walk({orders.front(), {}});  // throws: an op does not fit
  if (!options_.order || done()) return;
  orders.push_back(depth_first_order(dependencies_));
  for (const AffinityWeights& w : weights) {
    if (done()) break;
    orders.push_back(affinity_order(*table_, dependencies_, request_->device.memory_bytes, w));
  }
  time_orders(1);
}

// Prices from where nothing is worth running again to where everything is, in an order that halves the gaps.
void JointSearch::sweep_prices() {
  constexpr std::array tilts{-1.0, 0.0, -2.0, 1.0, -0.5, -4.0, 2.0};
  constexpr std::int32_t levels = 7;
  const auto parents = static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, chains_.size()));
  for (const JointCandidate& parent :
       std::vector<JointCandidate>(chains_.begin(), chains_.begin() + parents)) {
    RecomputeChoice choice(*table_, parent.order);
    if (!choice.any_eligible()) return;
    const double low = std::log(choice.lowest_price()) - 3, high = std::log(choice.highest_price()) + 3;
    std::vector<std::vector<std::uint8_t>> seen;
    for (std::int32_t level = 0; level < levels && !done(); ++level) {
      std::vector<JointCandidate> sets;
      for (std::int32_t k = 1; k < 1 << level; k += 2)
        for (double tilt : tilts) {
          JointCandidate set = parent;
          const double middle = low + (high - low) * k / (1 << level);
          for (int knot = 0; knot < knots; ++knot)
            set.log_prices.push_back(middle + tilt * (static_cast<double>(knot) / (knots - 1) - 0.5));
          choice.choose(set.log_prices, set.again);
          if (std::find(seen.begin(), seen.end(), set.again) != seen.end()) continue;
          seen.push_back(set.again);
          sets.push_back(std::move(set));
        }
      keep(batch(sets.size(), [&](std::size_t i, JointCandidate& candidate, JointEvaluator& evaluator) {
        candidate = sets[i];
        evaluator.settle(candidate, 2);
        return true;
      }));
    }
  }
}

// Simulated annealing, several chains side by side; a chain that has fallen behind starts again from the
// best.
void JointSearch::evolve() {
  constexpr double first_temperature = 3e-3, last_temperature = 3e-5;  // of the seconds
  constexpr std::int32_t cycle = 150;                                  // generations from first to last
  const auto proposals = static_cast<std::size_t>(options_.proposals);
  for (; !done(); ++generation_) {
    const double cooled = static_cast<double>(generation_ % cycle) / cycle;
    accept(batch(chains_.size() * proposals,
                 [&](std::size_t i, JointCandidate& child, JointEvaluator& evaluator) {
                   Draws draws({request_->seed, static_cast<std::uint32_t>(i),
                                static_cast<std::uint32_t>(generation_)});
                   child = chains_[i / proposals];
                   mutate(child, draws);
                   if (draws.chance(0.1))
                     evaluator.settle(child, 2);
                   else
                     evaluator.evaluate(child);
                   return true;
                 }),
           first_temperature * std::pow(last_temperature / first_temperature, cooled));
    if (generation_ % cycle != cycle - 1) continue;
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
