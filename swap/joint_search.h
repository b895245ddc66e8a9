// The search over order, recompute, placement and swaps together.
//
// A candidate says in which order ops run, which run again, what the walk weighs how, and what is on
// the device at iteration boundaries; the walk (swap/walk.h) decides addresses, evictions and prefetches, the
// simulator gives the seconds of one steady iteration. First come seeds: greedy and natural orders, then
// sweeps of the price of recompute, coarse to fine; then an evolution of the best.
#pragma once

#include <swapadvisor/swap/genome.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/pool_walk.h>
#include <swapadvisor/swap/recompute.h>
#include <swapadvisor/swap/search_budget.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/waits.h>
#include <swapadvisor/swap/walk.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace swapadvisor {

struct JointCandidate {
  std::vector<std::int32_t> order;  ///< every op once, dependencies kept
  std::vector<std::uint8_t> again;  ///< by op: runs again; empty: none
  std::vector<double> prices;       ///< of `RecomputeChoice::choose`, from which `again` came, by and large
  std::int32_t longest_chain = RecomputeChoice::any_length;  ///< the same
  std::vector<std::int32_t> stays;                           ///< by op: of `run_sequence`; empty: for good
  WalkPolicy policy;
  std::vector<Resident> start;  ///< on the device at iteration boundaries
  std::vector<float> bias;      ///< by buffer, of evictions; empty: 1
  SizeClassPool pool;           ///< where placement is not exact
  double seconds = 0;
};

struct JointOptions {
  std::int32_t chains = 4;     ///< of the annealing, side by side
  std::int32_t proposals = 2;  ///< per chain and generation
  bool baselines = true;       ///< of `JointPlanner`: a faster plan of one that does not search is taken over
};

/// The size-class pools of a search without exact placement.
struct JointPools {
  /// Throws `Error` when the limit of `request` is below the smallest pool.
  explicit JointPools(const PlanRequest& request);

  PoolDemand demand;
  PoolOperators operators;
};

/// Walks and times candidates. One per thread.
class JointEvaluator {
 public:
  /// `pools`: the candidates' pools place the buffers; null: exact placement.
  JointEvaluator(const OpTable& table, const PlanRequest& request, const JointPools* pools);

  /// Fills in `seconds`, leaving `start` as it is.
  void evaluate(JointCandidate& candidate);
  /// Walks from nothing, then tries as `start` what that ends with, and what of it needs no moving, `passes`
  /// times at most; keeps the fastest. `thorough`: as long again for where the walks themselves end, as
  /// `walk_passes` does.
  void settle(JointCandidate& candidate, int passes, bool thorough = false);

  /// Raises the prices of what is copied while compute is about to wait for the link: of all copies of each
  /// stretch in which a stream of copies is busy until a run can start, `step` times the share of the stretch
  /// that the wait is.
  void price_waits(JointCandidate& candidate, double step);

  /// Of the last closed walk, until the next.
  const InstructionList& instructions() {
    return pool_walker_ ? pool_walker_->instructions() : walker_.instructions();
  }
  std::span<const Resident> residents() {
    return pool_walker_ ? pool_walker_->residents() : walker_.residents();
  }
  const FlatProgram& flat() const { return flat_; }

  /// Counts evaluations anew; no more than `most` are made: what would be evaluated then takes forever.
  void allow(std::int64_t most) {
    evaluations_ = 0;
    allowed_ = most;
  }
  std::int64_t evaluations() const { return evaluations_; }

 private:
  void make_runs(const JointCandidate& candidate);
  double walk(const JointCandidate& candidate, std::span<const Resident> start);
  bool count_evaluation();  // false: no more are allowed

  const OpTable* table_;
  Walker walker_;
  std::optional<PoolWalker> pool_walker_;
  WaitInference waits_;
  Simulator simulator_;
  FlatProgram flat_;
  Timeline timeline_;
  std::vector<double> pressure_;  // by buffer
  std::vector<std::int32_t> runs_;
  std::int64_t evaluations_ = 0, allowed_ = std::numeric_limits<std::int64_t>::max();
};

/// One search. The answer does not depend on the thread count: candidates are made and timed in batches, each
/// with draws of its own, and a batch is complete before the next begins.
class JointSearch {
 public:
  /// The graph of `request` is that of `table`.
  JointSearch(const OpTable& table, const PlanRequest& request, const JointOptions& options = {});

  /// Until the budget is spent, the ideal is reached or a stop is requested; evaluates one candidate at
  /// least.
  void run();

  const JointCandidate& best() const { return best_; }
  /// For the best candidate; ready to evaluate it.
  JointEvaluator& evaluator() { return *evaluators_.front(); }
  const SearchReport& report() const { return report_; }

 private:
  static constexpr std::array<std::int32_t, 7> chain_lengths{RecomputeChoice::any_length, 6, 9, 3, 12, 4, 1};
  static constexpr std::array<std::int32_t, 7> stays_steps{stays_for_good, 4, 15, 8, 30, 0, 60};

  /// How values are chosen, made again and swapped out, in a sweep of prices.
  struct RecomputeStyle {
    std::int32_t longest_chain, stays;
    bool fit_copies;
    double link_share;
    double best_seconds = std::numeric_limits<double>::infinity();
  };
  struct PricedStyle {
    double log_price, tilt;  // tilt: of the price line, from the first op to the turn
    RecomputeStyle* style;
  };

  using Make = std::function<void(std::size_t i, JointCandidate&, JointEvaluator&)>;

  void try_orders();
  void settle_parts(JointCandidate& candidate, std::size_t i) const;
  void glance_at_recompute();
  void sweep_prices();
  void try_styles(const JointCandidate& parent, RecomputeChoice& choice, std::span<const PricedStyle> to_try);
  void evolve();
  void drop_recomputes();
  /// Makes and times `count` candidates in parallel, yet as if one by one until the budget in evaluations is
  /// spent: `make` is a function of i, and those that no budget was left for have no order.
  std::vector<JointCandidate> batch(std::size_t count, const Make& make);
  /// Keeps the best as starting points of the chains.
  void keep(std::vector<JointCandidate> candidates);
  void accept(std::vector<JointCandidate> proposals, double temperature);
  bool done() const;
  void note_progress();

  void mutate(JointCandidate& child, Draws& draws, JointEvaluator& evaluator);
  void mutate_order(JointCandidate& child, Draws& draws);
  void move_op(JointCandidate& child, Draws& draws);
  void pull_op(JointCandidate& child, Draws& draws);
  void mutate_recompute(JointCandidate& child, Draws& draws, JointEvaluator& evaluator);
  void toggle_recompute(JointCandidate& child, Draws& draws);
  void exchange_recomputes(JointCandidate& child, Draws& draws);
  void change_stays(JointCandidate& child, Draws& draws);
  void change_prices(JointCandidate& child, Draws& draws, JointEvaluator& evaluator);
  void bias_buffers(JointCandidate& child, Draws& draws);
  void change_start(JointCandidate& child, Draws& draws);
  static void change_lead(WalkPolicy& policy, Draws& draws);
  void mutate_placement(JointCandidate& child, Draws& draws);

  const OpTable* table_;
  const PlanRequest* request_;
  JointParts parts_;
  JointOptions options_;
  std::unique_ptr<JointPools> pools_;
  Dependencies dependencies_;
  double ideal_;
  std::vector<std::int32_t> toggles_;  // ops that may run again
  std::vector<std::int32_t> large_;    // buffers worth a bias, the largest first
  SearchBudget budget_;
  std::vector<std::unique_ptr<JointEvaluator>> evaluators_;
  JointCandidate best_;
  std::vector<JointCandidate> chains_;  // until the annealing begins: the best so far, best first
  std::int32_t generation_ = 0;
  SearchReport report_;
};

}  // namespace swapadvisor
