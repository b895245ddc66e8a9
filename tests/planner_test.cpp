#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/verify.h>

#include <string>
#include <thread>

namespace swapadvisor {
namespace {

PlanRequest request_for(const PlanGraph& graph, const DeviceSpec& device) {
  PlanRequest request;
  request.graph = &graph;
  request.device = device;
  request.search_evaluations = 40;
  return request;
}

std::string message(const std::string& planner, const PlanRequest& request) {
  try {
    make_planner(planner)->plan(request);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// input → conv → relu → loss, with an update: 1024-byte activations, a 512-byte weight, a 4-byte loss.
PlanGraph small_network() {
  PlanGraph graph;
  graph.name = "small";
  graph.buffers = {{"x", 1024, BufferKind::input},     {"w", 512, BufferKind::parameter},
                   {"y", 1024, BufferKind::temporary}, {"z", 1024, BufferKind::temporary},
                   {"loss", 4, BufferKind::output},    {"dw", 512, BufferKind::temporary}};
  graph.ops = {{"conv", "conv2d", {0, 1}, {2}, 256, 1e-3, true, false},
               {"act", "relu", {2}, {3}, 0, 1e-3, true, true},
               {"loss", "mean", {3}, {4}, 0, 1e-3, true, false},
               {"grad", "conv2d_backward", {0, 3}, {5}, 0, 1e-3, true, false},
               {"step", "sgd", {1, 5}, {1}, 0, 1e-3, false, true}};
  check(graph);
  return graph;
}

DeviceSpec device(std::int64_t memory) {
  DeviceSpec spec;
  spec.name = "test";
  spec.memory_bytes = memory;
  spec.h2d_bytes_per_second = spec.d2h_bytes_per_second = 1e9;
  return spec;
}

TEST(Planners, ListAndNamesAgree) {
  const auto list = planner_list();
  ASSERT_GE(list.size(), 3u);
  for (const PlannerInfo& info : list) {
    EXPECT_EQ(make_planner(info.name)->name(), info.name);
    EXPECT_FALSE(info.summary.empty());
  }
  try {
    make_planner("nonesuch");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'nonesuch'"), std::string::npos);
    for (const PlannerInfo& info : list)
      EXPECT_NE(std::string(error.what()).find(info.name), std::string::npos);
  }
}

TEST(NonePlanner, KeepsEverythingAndWorksInPlace) {
  const PlanGraph graph = small_network();
  // x, w and loss live through; above them y and z share 1024 bytes beside the workspace, or dw.
  const std::int64_t need = 1024 + 512 + 256 + 1024 + 512;
  EXPECT_EQ(device_bytes_needed(graph), need);
  const Program program = make_planner("none")->plan(request_for(graph, device(need)));
  EXPECT_EQ(verify(program).error, "");
  EXPECT_EQ(program.arena_bytes, need);
  EXPECT_EQ(program.predicted.swap_in_bytes, 1024);
  EXPECT_EQ(program.predicted.swap_out_bytes, 4);
  ASSERT_EQ(program.resident.size(), 1u);
  EXPECT_TRUE(program.resident[0].dirty);
  EXPECT_EQ(program.host_bytes, 4096 * 2 + 4096 + 4096 * 2);
  EXPECT_EQ(message("none", request_for(graph, device(need - 1))),
            "planner none: graph 'small' needs 3.25 KiB (3328 bytes) of device memory, limit 3327 bytes");
}

TEST(Planners, WhatFitsIsNotSwapped) {
  const PlanGraph graph = small_network();
  for (const PlannerInfo& info : planner_list()) {
    if (info.name.starts_with("vdnn")) continue;  // offloads by its rule, whatever fits
    const Program program =
        make_planner(info.name)->plan(request_for(graph, device(device_bytes_needed(graph))));
    EXPECT_EQ(program.planner, info.name);
    EXPECT_EQ(program.predicted.swap_in_bytes, 1024) << info.name;
    EXPECT_EQ(program.predicted.swap_out_bytes, 4) << info.name;
  }
}

TEST(Planners, TheHostLimitIsAPromise) {
  const PlanGraph graph = small_network();
  for (const PlannerInfo& info : planner_list()) {
    DeviceSpec spec = device(device_bytes_needed(graph));
    spec.host_bytes = 4096 * 5;
    EXPECT_EQ(message(info.name, request_for(graph, spec)), "") << info.name;
    spec.host_bytes = 4096 * 5 - 1;
    EXPECT_NE(message(info.name, request_for(graph, spec)).find("needs 20.0 KiB of host memory"),
              std::string::npos);
  }
}

TEST(Planners, PrefetchBeatsDemand) {
  const PlanGraph graph = small_network();
  // With the neediest op's bytes and no more there is no room to prefetch into.
  const DeviceSpec spec = device(largest_op_bytes(graph) + arena_alignment);
  const Program lru = make_planner("lru")->plan(request_for(graph, spec));
  const Program belady = make_planner("belady")->plan(request_for(graph, spec));
  EXPECT_LT(belady.predicted.iteration_seconds, lru.predicted.iteration_seconds);
}

// Pure: neither threads, nor earlier calls, nor other calls at the same time change a plan.
TEST(Planners, SameRequestSamePlan) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    const DeviceSpec spec = random_device(seed, graph);
    for (const PlannerInfo& info : planner_list()) {
      if (info.name == "none") continue;
      PlanRequest request = request_for(graph, spec);
      const auto plan = [&](int threads) {
        PlanRequest mine = request;
        mine.threads = threads;
        Program program = make_planner(info.name)->plan(mine);
        program.search.seconds = 0;
        program.search.history.clear();
        return plan_to_json(program);
      };
      const std::string first = plan(1);
      EXPECT_EQ(plan(3), first) << info.name;
      std::string other;
      std::thread thread([&] { other = plan(2); });
      EXPECT_EQ(plan(1), first) << info.name;
      thread.join();
      EXPECT_EQ(other, first) << info.name;
    }
  }
}

TEST(Planners, AGraphWithoutOpsIsPlanned) {
  PlanGraph graph;
  graph.buffers = {{"w", 100, BufferKind::parameter}};
  for (const PlannerInfo& info : planner_list()) {
    const Program program = make_planner(info.name)->plan(request_for(graph, device(1000)));
    EXPECT_EQ(verify(program).error, "") << info.name;
  }
}

}  // namespace
}  // namespace swapadvisor
