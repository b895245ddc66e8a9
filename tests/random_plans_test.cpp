// Every planner on many random graphs: plans are proven valid, stay within the limit, and are refused only
// where one op alone does not fit.
#include <gtest/gtest.h>
#include <mix_kernels.h>
#include <random_plan_graph.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/verify.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace swapadvisor {
namespace {

std::uint64_t graph_count() {
  const char* wanted = std::getenv("SWAPADVISOR_RANDOM_GRAPHS");
  return wanted ? std::strtoull(wanted, nullptr, 10) : 2000;
}

PlanRequest small_request(const PlanGraph& graph, const DeviceSpec& device) {
  PlanRequest request;
  request.graph = &graph;
  request.device = device;
  request.seed = 7;
  request.search_evaluations = 30;
  return request;
}

// Every third graph has sizes far apart, so that some buffers are small beside the limit.
PlanGraph graph_for(std::uint64_t seed, std::int64_t largest_bytes = 1000000) {
  RandomGraphOptions options;
  if (seed % 3 == 0) options.largest_bytes = largest_bytes;
  return random_plan_graph(seed, options);
}

void expect_good(const Program& program, const DeviceSpec& device) {
  const Verdict verdict = verify(program);
  ASSERT_TRUE(verdict.valid) << verdict.error;
  EXPECT_LE(program.arena_bytes, device.memory_bytes);
  EXPECT_LE(program.predicted.peak_bytes, program.arena_bytes);
  EXPECT_LE(program.host_bytes, device.host_bytes);
  EXPECT_EQ(program.host_bytes, host_bytes_needed(program.graph, program.instructions));
  EXPECT_GE(program.predicted.iteration_seconds, total_seconds(program.graph) * (1 - 1e-9));
}

TEST(RandomPlans, EveryPlannerIsValidWithinTheLimit) {
  const std::vector<PlannerInfo> planners = planner_list();
  for (std::uint64_t seed = 0; seed < graph_count(); ++seed) {
    const PlanGraph graph = graph_for(seed);
    const DeviceSpec device = random_device(seed, graph);
    for (const PlannerInfo& info : planners) {
      SCOPED_TRACE("graph " + std::to_string(seed) + ", planner " + info.name);
      try {
        expect_good(make_planner(info.name)->plan(small_request(graph, device)), device);
      } catch (const Error& error) {
        EXPECT_EQ(info.name, "none") << error.what();
        EXPECT_GT(device_bytes_needed(graph), device.memory_bytes);
      }
      if (HasFailure()) return;
    }
  }
}

// Each plan is executed with freed memory poisoned; outputs and persistent values must have the bits of the
// graph run op by op on memory of its own.
TEST(RandomPlans, EveryPlanExecutesToTheSameBits) {
  for (std::uint64_t seed = 0; seed < graph_count(); ++seed) {
    // Executing takes time by the byte.
    const PlanGraph graph = graph_for(seed, seed % 30 == 0 ? 1000000 : 100000);
    const DeviceSpec device = random_device(seed, graph);
    const test::ReferenceRun reference = test::run_reference(graph, 5);
    for (const PlannerInfo& info : planner_list()) {
      SCOPED_TRACE("graph " + std::to_string(seed) + ", planner " + info.name);
      if (info.name == "none" && device_bytes_needed(graph) > device.memory_bytes) continue;
      const Program program = make_planner(info.name)->plan(small_request(graph, device));
      ASSERT_EQ(test::run_and_compare(program, reference, seed % 2 == 0), "");
    }
  }
}

TEST(RandomPlans, RefusedJustBelowTheLargestOp) {
  for (std::uint64_t seed = 0; seed < graph_count() / 20; ++seed) {
    const PlanGraph graph = graph_for(seed);
    DeviceSpec device = random_device(seed, graph);
    device.memory_bytes = largest_op_bytes(graph) - 1;
    if (device.memory_bytes < arena_alignment) continue;
    for (const PlannerInfo& info : planner_list()) {
      SCOPED_TRACE("graph " + std::to_string(seed) + ", planner " + info.name);
      EXPECT_THROW(make_planner(info.name)->plan(small_request(graph, device)), Error);
    }
  }
}

}  // namespace
}  // namespace swapadvisor
