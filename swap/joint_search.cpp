#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/affinity_order.h>
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
        ++evaluations_;
        walker_.walk({runs_, start, false, candidate.policy, candidate.bias});
      });
}

// --- the search
// ------------------------------------------------------------------------------------------------

JointSearch::JointSearch(const OpTable& table, const PlanRequest& request, const JointOptions& options)
    : table_(&table),
      request_(&request),
      options_(options),
      dependencies_(table.graph()),
      ideal_(total_seconds(table.graph())),
      budget_(request) {
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

bool JointSearch::done() const {
  if (best_.order.empty()) return false;
  return budget_.spent(report_.evaluations) || best_.seconds <= ideal_ * (1 + 1e-9);
}

void JointSearch::run() {
  budget_ = SearchBudget(*request_);
  try_orders();
  if (options_.recompute) sweep_prices();
  evolve();
  report_.seconds = budget_.seconds();
}

// The first candidate of all is made whatever the budget; then a candidate begins only while there is budget
// for it.
std::vector<JointCandidate> JointSearch::batch(std::size_t count, const Make& make) {
  std::vector<JointCandidate> made(count);
  if (done()) return made;
  const bool first = best_.order.empty();
  std::int64_t before = 0, after = 0;
  for (const auto& evaluator : evaluators_) before += evaluator->evaluations();
  make_in_parallel(evaluators_, count, [&](std::size_t i, JointEvaluator& evaluator) {
    const bool must = first && i == 0;
    if (!must && budget_.interrupted()) return false;
    make(i, made[i], evaluator);
    return true;
  });
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
    report_.history.emplace_back(budget_.seconds(), best_.seconds);
  if (request_->progress) request_->progress({budget_.seconds(), report_.evaluations, best_.seconds, ideal_});
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
