// The search over order, recompute, placement and swaps together.
//
// A candidate says in which order ops run, which run a second time, what the walk weighs how, and what is on
// the device at iteration boundaries; the walk (swap/walk.h) decides addresses, evictions and prefetches, the
// simulator gives the seconds of one steady iteration. First come seeds: greedy and natural orders, then
// sweeps of the price of recompute, coarse to fine; then an evolution of the best.
#pragma once

#include <swapadvisor/swap/genome.h>
#include <swapadvisor/swap/planner.h>
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
#include <span>
#include <vector>

namespace swapadvisor {

struct JointCandidate {
  std::vector<std::int32_t> order;  ///< every op once, dependencies kept
  std::vector<std::uint8_t> again;  ///< by op: runs again; empty: none
  std::vector<double> prices;       ///< of `RecomputeChoice::choose`, from which `again` came, by and large
  std::int32_t longest_chain = RecomputeChoice::any_length;  ///< the same
  std::vector<std::int32_t> stays;  ///< by op: of `run_sequence`; empty: for good
  WalkPolicy policy;
  std::vector<Resident> start;  ///< on the device at iteration boundaries
  std::vector<float> bias;      ///< by buffer, of evictions; empty: 1
  double seconds = 0;
};

/// What may be left out of the search, to see what it is worth.
struct JointOptions {
  bool order = true;  ///< other orders than the given one
  bool recompute = true;
  bool eviction = true;        ///< weigh time and link load; else only the distance to the next use
  std::int32_t chains = 4;     ///< of the annealing, side by side
  std::int32_t proposals = 2;  ///< per chain and generation
};

/// Walks and times candidates. One per thread.
class JointEvaluator {
 public:
  JointEvaluator(const OpTable& table, const DeviceSpec& device)
      : table_(&table), walker_(table, device), waits_(table), simulator_(device) {}

  /// Fills in `seconds`, leaving `start` as it is.
  void evaluate(JointCandidate& candidate);
  /// Walks from nothing, then tries as `start` what that ends with, and what of it needs no moving, `passes`
  /// times at most; keeps the fastest. `thorough`: as long again for where the walks themselves end, as
  /// `walk_passes` does.
  void settle(JointCandidate& candidate, int passes, bool thorough = false);

  /// Raises the prices of what is copied while compute is about to wait for the link: of all copies of each stretch in
  /// which a stream of copies is busy until a run can start, `step` times the share of the stretch that the wait is.
  void price_waits(JointCandidate& candidate, double step);

  const Walker& walker() const { return walker_; }
  const FlatProgram& flat() const { return flat_; }
  std::int64_t evaluations() const { return evaluations_; }

 private:
  void make_runs(const JointCandidate& candidate);
  double walk(const JointCandidate& candidate, std::span<const Resident> start);

  const OpTable* table_;
  Walker walker_;
  WaitInference waits_;
  Simulator simulator_;
  FlatProgram flat_;
  Timeline timeline_;
  std::vector<double> pressure_;  // by buffer
  std::vector<std::int32_t> runs_;
  std::int64_t evaluations_ = 0;
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
  const SearchReport& report() const { return report_; }

 private:
  static constexpr std::array<std::int32_t, 7> chain_lengths{RecomputeChoice::any_length, 6, 9, 3, 12, 4, 1};
  static constexpr std::array<std::int32_t, 7> stays_steps{stays_for_good, 4, 15, 8, 30, 0, 60};

  using Make = std::function<void(std::size_t i, JointCandidate&, JointEvaluator&)>;

  void try_orders();
  void sweep_prices();
  void evolve();
  /// Makes and times `count` candidates in parallel. Those that no budget was left for have no order.
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
  void change_stays(JointCandidate& child, Draws& draws);
  void change_prices(JointCandidate& child, Draws& draws, JointEvaluator& evaluator);
  void bias_buffers(JointCandidate& child, Draws& draws);
  void change_start(JointCandidate& child, Draws& draws);

  const OpTable* table_;
  const PlanRequest* request_;
  JointOptions options_;
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
