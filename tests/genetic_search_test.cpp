#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/swap/genetic_search.h>
#include <swapadvisor/swap/planner.h>

#include <vector>

namespace swapadvisor {
namespace {

/// A random graph at a limit where the pool fits, yet not everything does.
struct Problem {
  explicit Problem(std::uint64_t seed) : graph(random_plan_graph(seed, {30, 60, 5000})) {
    request.graph = &graph;
    request.device = random_device(seed, graph);
    const PoolDemand demand(graph);
    request.device.memory_bytes = pool_bytes(demand, smallest_pool(demand)) * 5 / 4;
    request.device.host_bytes = DeviceSpec::unbounded;
    request.search_evaluations = 300;
  }
  Program plan() const { return make_planner("swapadvisor")->plan(request); }

  PlanGraph graph;
  PlanRequest request;
};

TEST(GeneticSearch, BudgetInEvaluationsIsExact) {
  Problem problem(3);
  for (std::int64_t budget : {1, 7, 48, 49, 200}) {
    problem.request.search_evaluations = budget;
    const SearchProblem search_problem(problem.request);
    GeneticSearch search(search_problem);
    search.run();
    if (search.report().history.back().second > search_problem.ideal_seconds * (1 + 1e-9)) {
      EXPECT_EQ(search.report().evaluations, budget);
    }
    EXPECT_LE(search.report().evaluations, budget);
  }
}

TEST(GeneticSearch, HistoryImproves) {
  Problem problem(5);
  const SearchProblem search_problem(problem.request);
  GeneticSearch search(search_problem);
  search.run();
  const auto& history = search.report().history;
  ASSERT_FALSE(history.empty());
  for (std::size_t k = 1; k < history.size(); ++k) {
    EXPECT_LT(history[k].second, history[k - 1].second);
    EXPECT_GE(history[k].first, history[k - 1].first);
  }
  PoolEvaluator evaluator(search_problem);
  EXPECT_EQ(evaluator.evaluate(search.best()), history.back().second);
  EXPECT_TRUE(is_valid_order(search_problem.dependencies, search.best().order));
}

TEST(GeneticSearch, ThreadsChangeNothing) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Problem problem(seed);
    problem.request.seed = seed;
    const Program one = problem.plan();
    for (int threads : {2, 5}) {
      problem.request.threads = threads;
      const Program many = problem.plan();
      ASSERT_EQ(one.instructions.size(), many.instructions.size());
      for (std::size_t i = 0; i < one.instructions.size(); ++i) {
        EXPECT_EQ(one.instructions[i].target, many.instructions[i].target);
        EXPECT_EQ(one.instructions[i].offsets, many.instructions[i].offsets);
        EXPECT_EQ(one.instructions[i].wait, many.instructions[i].wait);
      }
      EXPECT_EQ(one.predicted.iteration_seconds, many.predicted.iteration_seconds);
      EXPECT_EQ(one.search.evaluations, many.search.evaluations);
    }
  }
}

TEST(GeneticSearch, PredictionIsTheBestOfTheHistory) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Program program = Problem(seed).plan();
    if (program.search.history.empty()) continue;  // fitted without swaps
    EXPECT_NEAR(program.predicted.iteration_seconds, program.search.history.back().second,
                1e-9 * program.predicted.iteration_seconds);
    EXPECT_EQ(program.predicted.fallback_bytes, 0);
  }
}

TEST(GeneticSearch, StopEndsIt) {
  Problem problem(9);
  problem.request.search_evaluations = 1'000'000'000;
  std::stop_source source;
  problem.request.stop = source.get_token();
  int calls = 0;
  problem.request.progress = [&](const PlanProgress& progress) {
    EXPECT_GT(progress.evaluations, 0);
    if (++calls == 3) source.request_stop();
  };
  const Program program = problem.plan();
  EXPECT_LT(program.search.evaluations, 1'000'000);
  EXPECT_FALSE(program.instructions.empty());
}

// The pool cannot hold every op: demand swapping does it, and says so.
TEST(SwapAdvisorPlanner, FallsBackBelowTheSmallestPool) {
  int fallbacks = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    PlanRequest request;
    request.graph = &graph;
    request.device = random_device(seed, graph);
    request.device.host_bytes = DeviceSpec::unbounded;
    request.device.memory_bytes = round_up(largest_op_bytes(graph), arena_alignment);
    request.search_evaluations = 20;
    const PoolDemand demand(graph);
    const Program program = make_planner("swapadvisor")->plan(request);
    const bool too_small = pool_bytes(demand, smallest_pool(demand)) > request.device.memory_bytes;
    const bool swaps = device_bytes_needed(graph) > request.device.memory_bytes;
    const std::int64_t moved = program.predicted.swap_in_bytes + program.predicted.swap_out_bytes;
    EXPECT_EQ(program.predicted.fallback_bytes, too_small && swaps ? moved : 0);
    fallbacks += too_small && swaps ? 1 : 0;
  }
  EXPECT_GT(fallbacks, 5);
}

}  // namespace
}  // namespace swapadvisor
