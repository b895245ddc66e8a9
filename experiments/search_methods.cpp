#include <swapadvisor/core/error.h>
#include <swapadvisor/experiments/parallel_jobs.h>
#include <swapadvisor/experiments/search_methods.h>
#include <swapadvisor/swap/genetic_search.h>
#include <swapadvisor/swap/joint_planner.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

namespace swapadvisor {
namespace {

constexpr double no_plan = std::numeric_limits<double>::quiet_NaN();

/// Candidates in the paper's encoding, and what they take.
class Candidates {
 public:
  explicit Candidates(const PlanRequest& request)
      : problem_(request), evaluator_(problem_), draws_({request.seed, 0x5ea7c4, 0}), stop_(request.stop) {}

  double seconds(const Genome& genome) {
    if (stop_.stop_requested()) fail("interrupted");
    return evaluator_.evaluate(genome);
  }
  double ideal() const { return problem_.ideal_seconds; }
  Draws& draws() { return draws_; }

  /// A natural order, every size its own class.
  Genome start(std::size_t i) {
    Genome genome;
    genome.order = problem_.natural_orders[i % problem_.natural_orders.size()];
    genome.pool = problem_.operators.make(all_classes(), 1, draws_);
    return genome;
  }
  Genome random() {
    Genome genome;
    const auto natural =
        static_cast<std::size_t>(draws_.below(static_cast<std::int32_t>(problem_.natural_orders.size())));
    evaluator_.mutation().apply(problem_.natural_orders[natural], draws_.uniform(), draws_, genome.order);
    std::vector<bool> is_class(problem_.demand.size_count());
    const double share = draws_.uniform();
    for (std::size_t s = 0; s < is_class.size(); ++s) is_class[s] = draws_.chance(share);
    is_class.back() = true;
    genome.pool = problem_.operators.make(std::move(is_class), 4, draws_);
    return genome;
  }
  /// One change of the order or of the pool.
  Genome neighbour(const Genome& genome) {
    Genome next = genome;
    if (draws_.chance(0.5))
      evaluator_.mutation().apply(genome.order, std::exp2(-3 - draws_.below(8)), draws_, next.order);
    else
      problem_.operators.mutate(next.pool, draws_);
    return next;
  }
  std::size_t starts() const { return problem_.natural_orders.size(); }

 private:
  std::vector<bool> all_classes() const { return std::vector<bool>(problem_.demand.size_count(), true); }

  SearchProblem problem_;
  PoolEvaluator evaluator_;
  Draws draws_;
  std::stop_token stop_;
};

/// Best seconds at each budget; `next` gives a candidate's seconds.
template <class F>
std::vector<double> best_at(const std::vector<std::int64_t>& budgets, double ideal, F next) {
  std::vector<double> percents;
  double best = std::numeric_limits<double>::infinity();
  std::int64_t evaluations = 0;
  for (std::int64_t budget : budgets) {
    for (; evaluations < budget; ++evaluations) best = std::min(best, next(evaluations));
    percents.push_back(100 * ideal / best);
  }
  return percents;
}

/// A schedule of its own for each budget: the first part of a long one is too hot to end anywhere.
double anneal(const PlanRequest& request, std::int64_t budget) {
  // Kirkpatrick et al., Science 1983: a geometric schedule, temperatures as shares of the ideal time.
  constexpr double hot = 0.02, cold = 0.0002;
  Candidates candidates(request);
  Genome current = candidates.start(0);
  double current_seconds = 0;
  const auto next = [&](std::int64_t evaluation) {
    if (evaluation == 0) return current_seconds = candidates.seconds(current);
    const double temperature =
        candidates.ideal() * hot *
        std::pow(cold / hot, static_cast<double>(evaluation) / static_cast<double>(budget));
    Genome neighbour = candidates.neighbour(current);
    const double seconds = candidates.seconds(neighbour);
    if (seconds <= current_seconds ||
        candidates.draws().chance(std::exp((current_seconds - seconds) / temperature))) {
      current = std::move(neighbour);
      current_seconds = seconds;
    }
    return seconds;
  };
  return best_at({budget}, candidates.ideal(), next).front();
}

std::vector<double> random_search(const PlanRequest& request, const std::vector<std::int64_t>& budgets) {
  Candidates candidates(request);
  return best_at(budgets, candidates.ideal(),
                 [&](std::int64_t) { return candidates.seconds(candidates.random()); });
}

std::vector<double> greedy(const PlanRequest& request, const std::vector<std::int64_t>& budgets) {
  Candidates candidates(request);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < candidates.starts(); ++i)
    best = std::min(best, candidates.seconds(candidates.start(i)));
  return std::vector<double>(budgets.size(), 100 * candidates.ideal() / best);
}

/// Percent of the best plan that takes no search. `joint` takes it over when it is better than its own,
/// whatever the budget and the seed: planned once for all of them.
class BestBaseline {
 public:
  double percent(const PlanRequest& request) {
    const std::lock_guard lock(mutex_);
    const auto& d = request.device;
    const auto key = std::tuple(request.graph, d.memory_bytes, d.host_bytes, d.h2d_bytes_per_second,
                                d.d2h_bytes_per_second, d.duplex_bytes_per_second);
    const auto [found, is_new] = percents_.try_emplace(key, no_plan);
    if (!is_new) return found->second;
    for (const PlannerInfo& info : planner_list())
      if (!info.searches && info.name != "none")
        found->second = std::fmax(found->second, efficiency(*make_planner(info.name), request));
    return found->second;
  }

  /// NaN where there is no plan.
  static double efficiency(const Planner& planner, const PlanRequest& request) {
    try {
      return 100 * planner.plan(request).predicted.efficiency;
    } catch (const Error&) {  // it does not fit
      return no_plan;
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<const PlanGraph*, std::int64_t, std::int64_t, double, double, double>, double>
      percents_;
};

std::vector<double> joint_search(PlanRequest request, const std::vector<std::int64_t>& budgets,
                                 BestBaseline& best_baseline) {
  const double least = best_baseline.percent(request);
  JointOptions options;
  options.baselines = false;
  const JointPlanner planner(options);
  std::vector<double> percents;
  for (std::int64_t budget : budgets) {
    request.search_evaluations = budget;
    percents.push_back(std::fmax(least, BestBaseline::efficiency(planner, request)));
  }
  return percents;
}

std::vector<double> genetic_search(PlanRequest request, const std::vector<std::int64_t>& budgets) {
  const auto planner = make_planner("swapadvisor");
  std::vector<double> percents;
  for (std::int64_t budget : budgets) {
    request.search_evaluations = budget;
    percents.push_back(BestBaseline::efficiency(*planner, request));
  }
  return percents;
}

std::vector<double> search(const SearchJob& job, const std::stop_token& stop, BestBaseline& best_baseline) {
  PlanRequest request;
  request.graph = job.graph.get();
  request.device = job.device;
  request.seed = job.seed;
  request.stop = stop;
  std::vector<double> annealed;
  switch (job.method) {
    case SearchMethod::genetic:
      return genetic_search(request, job.budgets);
    case SearchMethod::joint:
      return joint_search(request, job.budgets, best_baseline);
    case SearchMethod::annealing:
      for (std::int64_t budget : job.budgets) annealed.push_back(anneal(request, budget));
      return annealed;
    case SearchMethod::random:
      return random_search(request, job.budgets);
    case SearchMethod::greedy:
      return greedy(request, job.budgets);
  }
  return {};
}

/// A graph that cannot run in the memory has no plan; the other searches go on.
std::vector<double> search_or_none(const SearchJob& job, const std::stop_token& stop,
                                   BestBaseline& best_baseline) {
  const bool in_pools = job.method != SearchMethod::genetic && job.method != SearchMethod::joint;
  if (const PoolDemand demand(*job.graph);
      in_pools && pool_bytes(demand, smallest_pool(demand)) > job.device.memory_bytes)
    return std::vector<double>(job.budgets.size(), no_plan);
  try {
    return search(job, stop, best_baseline);
  } catch (const Error&) {
    return std::vector<double>(job.budgets.size(), no_plan);
  }
}

}  // namespace

std::string_view name_of(SearchMethod method) {
  switch (method) {
    case SearchMethod::genetic:
      return "genetic (paper)";
    case SearchMethod::annealing:
      return "annealing";
    case SearchMethod::random:
      return "random";
    case SearchMethod::greedy:
      return "greedy seeds";
    case SearchMethod::joint:
      return "joint";
  }
  return "?";
}

std::vector<std::vector<double>> run_searches(const std::vector<SearchJob>& jobs,
                                              const ExperimentOptions& options) {
  std::vector<std::vector<double>> outcomes(jobs.size());
  BestBaseline best_baseline;
  run_in_parallel(jobs.size(), options,
                  [&](std::size_t i) { outcomes[i] = search_or_none(jobs[i], options.stop, best_baseline); });
  return outcomes;
}

}  // namespace swapadvisor
