#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <plan_cache_fixture.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/verify.h>

#include <filesystem>
#include <functional>

namespace swapadvisor {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// The link is too slow for any plan to hide its copies.
PlanRequest request_with_slow_link(const PlanGraph& graph) {
  PlanRequest request = request_for(graph);
  request.device.h2d_bytes_per_second = request.device.d2h_bytes_per_second = 2e8;
  request.device.duplex_bytes_per_second = 3e8;
  return request;
}

/// Made with the seconds and link speeds of another day.
CachedPlan similar(const PlanCache& cache, const CountingPlanner& planner, const PlanRequest& request) {
  return cache.plan(planner, request, PlanMatch::similar, "2 threads");
}

TEST_F(PlanCacheTest, TheSameRequestIsNotSearchedAgain) {
  const CachedPlan first = cache_.plan(planner_, request_for(graph_));
  EXPECT_FALSE(first.cached);
  EXPECT_TRUE(fs::exists(first.file));
  const CachedPlan second = cache_.plan(planner_, request_for(graph_));
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(planner_.calls(), 1);
  EXPECT_EQ(second.file, first.file);
  EXPECT_THAT(second.planned, testing::MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_EQ(plan_to_json(second.program),
            plan_to_json(first.program));  // to the bit, the search's history too
  EXPECT_TRUE(verify(second.program).valid);
  EXPECT_TRUE(verify(read_plan(first.file)).valid);  // the file is a plan file
  for (const CachedPlan* plan : {&first, &second}) EXPECT_EQ(plan->unused + plan->unstored, "");
}

TEST_F(PlanCacheTest, EveryFieldOfTheRequestCounts) {
  using Change = std::function<void(PlanGraph&, PlanRequest&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"graph name", [](PlanGraph& g, PlanRequest&) { g.name = "other"; }},
      {"buffer name", [](PlanGraph& g, PlanRequest&) { g.buffers[2].name = "other"; }},
      {"bytes", [](PlanGraph& g, PlanRequest&) { g.buffers[2].bytes += 256; }},
      {"op name", [](PlanGraph& g, PlanRequest&) { g.ops[0].name = "other"; }},
      {"op type", [](PlanGraph& g, PlanRequest&) { g.ops[0].type = "other"; }},
      {"workspace", [](PlanGraph& g, PlanRequest&) { g.ops[0].workspace_bytes += 1; }},
      {"op seconds", [](PlanGraph& g, PlanRequest&) { g.ops[0].seconds *= 1 + 1e-15; }},
      {"recomputable", [](PlanGraph& g, PlanRequest&) { g.ops[0].recomputable = true; }},
      {"in place", [](PlanGraph& g, PlanRequest&) { g.ops[1].inplace = true; }},
      {"operands",
       [](PlanGraph& g, PlanRequest&) {
         g.ops[2].inputs = {3, 1, 1};
       }},
      {"device name", [](PlanGraph&, PlanRequest& r) { r.device.name = "other"; }},
      {"memory limit", [](PlanGraph&, PlanRequest& r) { r.device.memory_bytes += 4096; }},
      {"host limit", [](PlanGraph&, PlanRequest& r) { r.device.host_bytes += 4096; }},
      {"to the device", [](PlanGraph&, PlanRequest& r) { r.device.h2d_bytes_per_second *= 1.01; }},
      {"to the host", [](PlanGraph&, PlanRequest& r) { r.device.d2h_bytes_per_second *= 1.01; }},
      {"duplex", [](PlanGraph&, PlanRequest& r) { r.device.duplex_bytes_per_second *= 1.01; }},
      {"latency", [](PlanGraph&, PlanRequest& r) { r.device.copy_latency_seconds = 1e-6; }},
      {"slowdown", [](PlanGraph&, PlanRequest& r) { r.device.compute_slowdown_while_copying = 1.1; }},
      {"seed", [](PlanGraph&, PlanRequest& r) { r.seed = 2; }},
      {"without order", [](PlanGraph&, PlanRequest& r) { r.parts.order = false; }},
      {"without offsets", [](PlanGraph&, PlanRequest& r) { r.parts.offsets = false; }},
      {"without eviction", [](PlanGraph&, PlanRequest& r) { r.parts.eviction = false; }},
      {"without clean eviction", [](PlanGraph&, PlanRequest& r) { r.parts.clean_eviction = false; }},
      {"without recompute", [](PlanGraph&, PlanRequest& r) { r.parts.recompute = false; }},
      {"evaluations", [](PlanGraph&, PlanRequest& r) { r.search_evaluations += 1; }},
      {"seconds", [](PlanGraph&, PlanRequest& r) { r.search_seconds = 1000; }},
  };
  cache_.plan(planner_, request_for(graph_));
  int calls = 1;
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    PlanGraph graph = graph_;
    PlanRequest request = request_for(graph);
    change(graph, request);
    const CachedPlan changed = cache_.plan(planner_, request);
    EXPECT_FALSE(changed.cached);
    EXPECT_EQ(changed.unused, "");
    EXPECT_EQ(planner_.calls(), ++calls);
    EXPECT_TRUE(cache_.plan(planner_, request).cached);
  }
  planner_.set_version(planner_.info().version + 1);
  EXPECT_FALSE(cache_.plan(planner_, request_for(graph_)).cached);
  EXPECT_FALSE(cache_.plan(CountingPlanner("swapadvisor"), request_for(graph_)).cached);
  EXPECT_FALSE(cache_.plan(planner_, request_for(graph_), PlanMatch::exact, "another context").cached);
  EXPECT_EQ(cache_.contents().plans, static_cast<std::int64_t>(changes.size()) + 4);
}

TEST_F(PlanCacheTest, ThreadsCountWithTheClockOnly) {
  PlanRequest request = request_for(graph_);
  cache_.plan(planner_, request);
  request.threads = 2;  // changes no answer
  EXPECT_TRUE(cache_.plan(planner_, request).cached);
  request.search_seconds = 1000;
  EXPECT_FALSE(cache_.plan(planner_, request).cached);
  request.threads = 1;
  EXPECT_FALSE(cache_.plan(planner_, request).cached);
}

TEST_F(PlanCacheTest, PlannersThatDoNotSearchAreAlwaysAsked) {
  const CountingPlanner belady("belady");
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(cache_.plan(belady, request_for(graph_)).cached);
  EXPECT_EQ(belady.calls(), 2);
  PlanRequest roomy = request_for(graph_);
  roomy.device.memory_bytes = DeviceSpec::unbounded;  // nothing to search
  cache_.plan(planner_, roomy);
  EXPECT_EQ(cache_.contents().plans, 0);
}

TEST_F(PlanCacheTest, AStoppedSearchIsNotStored) {
  std::stop_source stop;
  stop.request_stop();
  PlanRequest request = request_for(graph_);
  request.stop = stop.get_token();
  const CachedPlan stopped = cache_.plan(planner_, request);
  EXPECT_TRUE(verify(stopped.program).valid);
  EXPECT_EQ(stopped.file, "");
  EXPECT_EQ(cache_.contents().plans, 0);
}

TEST_F(PlanCacheTest, DamagedFilesAreReplaced) {
  const CachedPlan good = cache_.plan(planner_, request_for(graph_));
  const std::string name = fs::path(good.file).filename().string(), text = read_file(good.file, 1 << 20);
  const auto without = [&](std::string part, const std::string& instead) {
    std::string changed = text;
    const std::size_t at = changed.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    return changed.replace(at, part.size(), instead);
  };
  const std::vector<std::string> damaged = {"",
                                            "{",
                                            text.substr(0, text.size() / 2),
                                            text.substr(0, 10),
                                            std::string(1000, '\0'),
                                            text.substr(text.find('\n')),
                                            without("\"joint\"", "\"belady\""),
                                            without("\"name\":\"a2\"", "\"name\":\"a7\""),
                                            without("\"planned\":\"2", "\"planned\":\"\\u001b")};
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    SCOPED_TRACE(i);
    folder_.write("plans/" + name, damaged[i]);
    const CachedPlan again = cache_.plan(planner_, request_for(graph_));
    EXPECT_FALSE(again.cached);
    EXPECT_THAT(again.unused, HasSubstr(good.file));
    EXPECT_EQ(again.unstored, "");
    EXPECT_EQ(steps_of(again.program), steps_of(good.program));
    EXPECT_TRUE(cache_.plan(planner_, request_for(graph_)).cached);
  }
}

TEST_F(PlanCacheTest, AnInvalidPlanIsNotBelieved) {
  const CachedPlan good = cache_.plan(planner_, request_for(graph_));
  const std::string text = read_file(good.file, 1 << 20);
  const auto broken = [&](const std::function<void(Program&)>& change) {
    SCOPED_TRACE(change.target_type().name());
    Program program = good.program;
    change(program);
    const std::string line = text.substr(0, text.find('\n') + 1);
    write_file_atomic(good.file, line + plan_to_json(program).substr(1));
    const CachedPlan again = cache_.plan(planner_, request_for(graph_));
    EXPECT_FALSE(again.cached);
    EXPECT_THAT(again.unused, HasSubstr("not valid"));
    EXPECT_TRUE(verify(again.program).valid);
    EXPECT_TRUE(cache_.plan(planner_, request_for(graph_)).cached);
  };
  broken([](Program& p) {  // all at one address
    for (Instruction& i : p.instructions) std::fill(i.offsets.begin(), i.offsets.end(), 0);
  });
  broken([](Program& p) {
    for (Instruction& i : p.instructions) i.wait.clear(), i.wait_previous.clear();
  });
  broken([](Program& p) { p.arena_bytes = device().memory_bytes + 4096; });
  EXPECT_EQ(planner_.calls(), 4);
}

TEST_F(PlanCacheTest, ThePredictionIsSimulatedAnew) {
  const CachedPlan good = cache_.plan(planner_, request_for(graph_));
  Program program = good.program;
  program.predicted.iteration_seconds *= 2;
  const std::string text = read_file(good.file, 1 << 20);
  write_file_atomic(good.file, text.substr(0, text.find('\n') + 1) + plan_to_json(program).substr(1));
  const CachedPlan again = cache_.plan(planner_, request_for(graph_));
  EXPECT_TRUE(again.cached);
  EXPECT_EQ(again.program.predicted.iteration_seconds, good.program.predicted.iteration_seconds);
}

TEST_F(PlanCacheTest, MeasuredTimesNeedToBeNearOnly) {
  const CachedPlan first = similar(cache_, planner_, request_with_slow_link(graph_));
  // Nothing but nearness lets it serve.
  ASSERT_GT(first.program.predicted.iteration_seconds, 1.1 * first.program.predicted.bound_seconds);
  PlanGraph measured = graph_;
  for (PlanOp& op : measured.ops) op.seconds *= 1.1;
  measured.ops[0].seconds *= 0.9;
  PlanRequest request = request_with_slow_link(measured);
  request.device.h2d_bytes_per_second *= 0.95;
  const CachedPlan again = similar(cache_, planner_, request);
  EXPECT_TRUE(again.cached);
  EXPECT_EQ(planner_.calls(), 1);
  // The same steps, under the times of now.
  EXPECT_EQ(again.program.graph.ops[0].seconds, measured.ops[0].seconds);
  EXPECT_EQ(again.program.predicted.ideal_seconds, total_seconds(measured));
  EXPECT_EQ(again.program.predicted.iteration_seconds, simulate(again.program).iteration_seconds);
  EXPECT_NE(again.program.predicted.iteration_seconds, first.program.predicted.iteration_seconds);
  EXPECT_EQ(again.program.instructions.size(), first.program.instructions.size());
  // Twice as fast altogether is the same problem.
  for (PlanOp& op : measured.ops) op.seconds /= 2;
  request.device.h2d_bytes_per_second *= 2;
  request.device.d2h_bytes_per_second *= 2;
  request.device.duplex_bytes_per_second *= 2;
  EXPECT_TRUE(similar(cache_, planner_, request).cached);
  EXPECT_EQ(cache_.contents().plans, 1);
}

TEST_F(PlanCacheTest, WhereNoPlanIsBetterMeasuredTimesDoNotMatter) {
  const CachedPlan first = similar(cache_, planner_, request_for(graph_));
  ASSERT_LE(first.program.predicted.iteration_seconds, 1.01 * first.program.predicted.bound_seconds);
  PlanGraph measured = graph_;
  for (PlanOp& op : measured.ops) op.seconds *= 3;
  PlanRequest request = request_for(measured);
  request.device.d2h_bytes_per_second *= 2;
  EXPECT_TRUE(similar(cache_, planner_, request).cached);
}

TEST_F(PlanCacheTest, OtherMeasuredTimesAreSearchedAgain) {
  using Change = std::function<void(PlanGraph&, PlanRequest&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"bytes a step",
       [](PlanGraph& g, PlanRequest&) {
         for (PlanOp& op : g.ops) op.seconds /= 1.5;
       }},
      {"bytes a step", [](PlanGraph&, PlanRequest& r) { r.device.h2d_bytes_per_second /= 1.5; }},
      {"bytes a step", [](PlanGraph&, PlanRequest& r) { r.device.d2h_bytes_per_second /= 1.5; }},
      {"bytes a step", [](PlanGraph&, PlanRequest& r) { r.device.duplex_bytes_per_second = 2e8; }},
      {"slow down", [](PlanGraph&, PlanRequest& r) { r.device.compute_slowdown_while_copying = 1.5; }},
      {"other ops",
       [](PlanGraph& g, PlanRequest&) {
         g.ops[0].seconds += g.ops[3].seconds;
         g.ops[3].seconds = 0;
       }},
      {"efficiency", [](PlanGraph&, PlanRequest& r) { r.device.copy_latency_seconds = 1e-3; }},
  };
  for (const auto& [why, change] : changes) {
    const PlanCache cache(folder_.path(fmt::format("plans{}", planner_.calls())));
    SCOPED_TRACE(fmt::format("{}, {} searches before", why, planner_.calls()));
    similar(cache, planner_, request_with_slow_link(graph_));
    PlanGraph graph = graph_;
    PlanRequest request = request_with_slow_link(graph);
    change(graph, request);
    const CachedPlan again = similar(cache, planner_, request);
    EXPECT_FALSE(again.cached);
    EXPECT_THAT(again.unused, HasSubstr(why));
    EXPECT_TRUE(similar(cache, planner_, request).cached);  // replaced
    EXPECT_EQ(cache.contents().plans, 1);
  }
}

TEST_F(PlanCacheTest, WhatIsNotMeasuredCountsInSimilarRequestsToo) {
  similar(cache_, planner_, request_for(graph_));
  EXPECT_FALSE(cache_.plan(planner_, request_for(graph_), PlanMatch::similar, "1 threads").cached);
  EXPECT_FALSE(cache_.plan(planner_, request_for(graph_), PlanMatch::exact, "2 threads").cached);
  PlanRequest limit = request_for(graph_);
  limit.device.memory_bytes += 4096;
  EXPECT_FALSE(similar(cache_, planner_, limit).cached);
  EXPECT_EQ(cache_.contents().plans, 4);
}

}  // namespace
}  // namespace swapadvisor
