// The genetic search over schedule and memory pool (SwapAdvisor, ASPLOS 2020, section 6).
#pragma once

#include <swapadvisor/swap/genome.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/pool_walk.h>
#include <swapadvisor/swap/search_budget.h>
#include <swapadvisor/swap/simulate.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace swapadvisor {

struct GeneticOptions {
  std::int32_t population = 48;
  std::int32_t elite = 4;       ///< best candidates that live on unchanged
  std::int32_t tournament = 3;  ///< a parent is the best of that many random ones
  double crossover = 0.6;       ///< chance that a child has two parents
};

/// By size: how many buffers are alive at a time in the graph's own order when nothing is swapped, and a
/// workspace.
std::vector<std::int32_t> count_alive(const PlanGraph& graph, const PoolDemand& demand);

/// What all threads of a search share, read-only.
struct SearchProblem {
  explicit SearchProblem(const PlanRequest& plan_request);

  const PlanRequest* request;
  OpTable table;
  PoolDemand demand;
  Dependencies dependencies;
  PoolOperators operators;
  std::vector<std::vector<std::int32_t>> natural_orders;  ///< where the first population comes from
  double ideal_seconds;
};

/// Plans and times candidates. One per thread.
class PoolEvaluator {
 public:
  explicit PoolEvaluator(const SearchProblem& problem);

  /// Simulated seconds of one iteration.
  double evaluate(const Genome& genome);
  /// The same from two iterations, with latency counted as bytes.
  double estimate(const Genome& genome);
  PoolWalker& walker() { return walker_; }
  OrderMutation& mutation() { return mutation_; }

 private:
  PoolWalker walker_;
  Simulator simulator_, quick_simulator_;
  double in_overhead_, out_overhead_;
  OrderMutation mutation_;
};

/// One search. The answer depends on the request's graph, device, seed and budget in evaluations, not on its
/// thread count: each candidate has draws of its own, and a generation is complete before the next begins.
class GeneticSearch {
 public:
  explicit GeneticSearch(const SearchProblem& problem, const GeneticOptions& options = {});

  /// Until the budget is spent, the ideal is reached or a stop is requested; evaluates one candidate at
  /// least.
  void run();

  const Genome& best() const { return population_.front().genome; }
  const SearchReport& report() const { return report_; }

 private:
  struct Individual {
    Genome genome;
    double seconds = 0;
    bool exact = false;  // timed as a whole, not estimated
  };

  void first_individual(std::int32_t i, Individual& individual, PoolEvaluator& evaluator) const;
  void breed(std::int32_t i, Individual& child, PoolEvaluator& evaluator) const;
  const Individual& parent(Draws& draws) const;
  /// Makes and evaluates individuals of the next generation; fewer than asked for when the budget ends.
  void next_generation();
  void fill_in_parallel(std::int32_t count);
  void sort_population();
  bool done() const;
  void note_progress();

  const SearchProblem* problem_;
  GeneticOptions options_;
  SearchBudget budget_;
  std::vector<std::unique_ptr<PoolEvaluator>> evaluators_;  // one per thread
  std::vector<Individual> population_;                      // best first
  std::vector<Individual> children_;
  std::int32_t generation_ = 0;
  SearchReport report_;
};

}  // namespace swapadvisor
