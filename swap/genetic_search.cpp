#include <swapadvisor/memory/liveness.h>
#include <swapadvisor/swap/genetic_search.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace swapadvisor {

std::vector<std::int32_t> count_alive(const PlanGraph& graph, const PoolDemand& demand) {
  const Liveness live = live_ranges(graph, given_order(graph));
  std::vector<std::int32_t> most(demand.size_count(), 0);
  struct Event {
    std::int32_t position, size, change;
  };
  std::vector<Event> events;
  for (const LiveRange& range : live.ranges) {
    const std::int32_t size = demand.size_of_buffer(range.buffer);
    events.push_back({range.first, size, 1});
    events.push_back({range.last + 1, size, -1});
  }
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const auto op = static_cast<std::int32_t>(i);
    const std::int32_t size = demand.size_of_workspace(op);
    if (size < 0) continue;
    events.push_back({op, size, 1});
    events.push_back({op + 1, size, -1});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.position != b.position ? a.position < b.position : a.change < b.change;
  });
  std::vector<std::int32_t> alive(demand.size_count(), 0);
  for (const Event& event : events) {
    const auto size = static_cast<std::size_t>(event.size);
    alive[size] += event.change;
    most[size] = std::max(most[size], alive[size]);
  }
  return most;
}

namespace {

DeviceSpec without_latency(DeviceSpec device) {
  device.copy_latency_seconds = 0;
  return device;
}

// Which sizes are classes in the first population: all, or groups of sizes within a factor.
std::vector<bool> grouped_classes(const PoolDemand& demand, double factor) {
  std::vector<bool> is_class(demand.size_count(), false);
  double largest = std::numeric_limits<double>::infinity();
  for (std::size_t s = demand.size_count(); s-- > 0;) {
    const auto bytes = static_cast<double>(demand.sizes()[s]);
    if (bytes * factor > largest) continue;
    is_class[s] = true;
    largest = bytes;
  }
  return is_class;
}

}  // namespace

SearchProblem::SearchProblem(const PlanRequest& plan_request)
    : request(&plan_request),
      table(*plan_request.graph),
      demand(*plan_request.graph),
      dependencies(*plan_request.graph),
      operators(demand, count_alive(*plan_request.graph, demand), plan_request.device.memory_bytes),
      natural_orders{given_order(*plan_request.graph), depth_first_order(dependencies),
                     breadth_first_order(dependencies)},
      ideal_seconds(total_seconds(*plan_request.graph)) {}

PoolEvaluator::PoolEvaluator(const SearchProblem& problem)
    : walker_(problem.table, problem.demand),
      simulator_(problem.request->device),
      quick_simulator_(without_latency(problem.request->device)),
      in_overhead_(problem.request->device.copy_latency_seconds *
                   problem.request->device.h2d_bytes_per_second),
      out_overhead_(problem.request->device.copy_latency_seconds *
                    problem.request->device.d2h_bytes_per_second),
      mutation_(problem.dependencies) {}

double PoolEvaluator::evaluate(const Genome& genome) {
  walker_.set_overhead(0, 0);
  walker_.set_order(genome.order);
  walker_.walk(genome.pool);
  return simulator_.iteration_seconds(walker_.queues());
}

double PoolEvaluator::estimate(const Genome& genome) {
  walker_.set_overhead(in_overhead_, out_overhead_);
  walker_.set_order(genome.order);
  walker_.walk(genome.pool);
  return quick_simulator_.quick_iteration_seconds(walker_.queues());
}

GeneticSearch::GeneticSearch(const SearchProblem& problem, const GeneticOptions& options)
    : problem_(&problem), options_(options), budget_(*problem.request) {
  for (int t = 0; t < std::max(1, problem.request->threads); ++t)
    evaluators_.push_back(std::make_unique<PoolEvaluator>(problem));
}

bool GeneticSearch::done() const {
  if (budget_.spent(report_.evaluations)) return true;
  return !population_.empty() && population_.front().seconds <= problem_->ideal_seconds * (1 + 1e-12);
}

void GeneticSearch::run() {
  budget_ = SearchBudget(*problem_->request);
  do next_generation();
  while (!done());
  report_.seconds = budget_.seconds();
}

void GeneticSearch::next_generation() {
  const std::int64_t left = budget_.evaluations() - report_.evaluations;
  const std::int32_t wanted = generation_ == 0 ? options_.population : options_.population - options_.elite;
  fill_in_parallel(static_cast<std::int32_t>(std::min<std::int64_t>(wanted, left)));
  report_.evaluations += static_cast<std::int64_t>(children_.size());
  population_.resize(std::min(population_.size(), static_cast<std::size_t>(options_.elite)));
  for (Individual& child : children_) population_.push_back(std::move(child));
  sort_population();
  ++generation_;
  note_progress();
}

// Which thread makes a child changes nothing. A clock that runs out, or a stop, cuts the generation short at
// its end.
void GeneticSearch::fill_in_parallel(std::int32_t count) {
  children_.assign(static_cast<std::size_t>(count), {});
  make_in_parallel(evaluators_, children_.size(), [&](std::size_t k, PoolEvaluator& evaluator) {
    const auto i = static_cast<std::int32_t>(k);
    if (i > 0 && budget_.interrupted()) return false;
    Individual& child = children_[k];
    if (generation_ == 0)
      first_individual(i, child, evaluator);
    else
      breed(i, child, evaluator);
    child.seconds = evaluator.estimate(child.genome);
    return true;
  });
  std::erase_if(children_, [](const Individual& child) { return child.genome.order.empty(); });
}

// Best first. Who is among the best is timed exactly, and may lose that place again.
void GeneticSearch::sort_population() {
  const auto elite = std::min(population_.size(), static_cast<std::size_t>(options_.elite));
  for (bool settled = false; !settled;) {
    std::stable_sort(population_.begin(), population_.end(),
                     [](const Individual& a, const Individual& b) { return a.seconds < b.seconds; });
    settled = true;
    for (std::size_t k = 0; k < elite; ++k) {
      Individual& individual = population_[k];
      if (individual.exact) continue;
      const double estimate = individual.seconds;
      individual.seconds = evaluators_.front()->evaluate(individual.genome);
      individual.exact = true;
      settled = settled && individual.seconds == estimate;
    }
  }
}

void GeneticSearch::first_individual(std::int32_t i, Individual& individual, PoolEvaluator& evaluator) const {
  Draws draws({problem_->request->seed, static_cast<std::uint32_t>(i), 0});
  const auto& natural = problem_->natural_orders;
  const auto& order = natural[static_cast<std::size_t>(i) % natural.size()];
  if (static_cast<std::size_t>(i) < natural.size())
    individual.genome.order = order;
  else
    evaluator.mutation().apply(order, std::exp2(-1 - draws.below(9)), draws, individual.genome.order);
  constexpr std::array factors{1.0, 1.25, 2.0, 4.0};
  const double factor = factors[static_cast<std::size_t>(i) / natural.size() % factors.size()];
  const bool varied = static_cast<std::size_t>(i) >= natural.size() * factors.size();
  individual.genome.pool =
      problem_->operators.make(grouped_classes(problem_->demand, factor), varied ? 2 : 1, draws);
}

const GeneticSearch::Individual& GeneticSearch::parent(Draws& draws) const {
  const auto size = static_cast<std::int32_t>(population_.size());
  std::int32_t best = size;
  for (std::int32_t k = 0; k < options_.tournament; ++k) best = std::min(best, draws.below(size));
  return population_[static_cast<std::size_t>(best)];  // sorted: the first is the best
}

void GeneticSearch::breed(std::int32_t i, Individual& child, PoolEvaluator& evaluator) const {
  Draws draws(
      {problem_->request->seed, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(generation_)});
  const Individual& a = parent(draws);
  bool changed = false;
  if (draws.chance(options_.crossover)) {
    const Individual& b = parent(draws);
    const auto n = static_cast<std::int32_t>(a.genome.order.size());
    cross_orders(a.genome.order, b.genome.order, static_cast<std::size_t>(draws.below(n + 1)),
                 child.genome.order);
    child.genome.pool = problem_->operators.cross(a.genome.pool, b.genome.pool, draws);
    changed = child.genome.order != a.genome.order;
  } else {
    child.genome = a.genome;
  }
  if (draws.chance(0.5)) {
    std::vector<std::int32_t> order;
    const double p = std::exp2(-1 - 11 * draws.uniform());
    evaluator.mutation().apply(child.genome.order, p, draws, order);
    changed = changed || order != child.genome.order;
    child.genome.order.swap(order);
  }
  if (!changed || draws.chance(0.5)) problem_->operators.mutate(child.genome.pool, draws);
}

void GeneticSearch::note_progress() {
  const double best = population_.front().seconds;
  if (report_.history.empty() || best < report_.history.back().second)
    report_.history.emplace_back(budget_.seconds(), best);
  if (problem_->request->progress)
    problem_->request->progress({budget_.seconds(), report_.evaluations, best, problem_->ideal_seconds});
}

}  // namespace swapadvisor
