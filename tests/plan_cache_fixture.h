// A search worth caching: a small graph under a limit, and a planner that counts.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/train/plan_cache.h>
#include <temporary_folder.h>

#include <atomic>
#include <memory>

namespace swapadvisor {

/// A real search that counts how often it was asked.
class CountingPlanner : public Planner {
 public:
  explicit CountingPlanner(const std::string& name = "joint")
      : planner_(make_planner(name)), info_(planner_->info()) {}
  PlannerInfo info() const override { return info_; }
  Program plan(const PlanRequest& request) const override {
    ++calls_;
    return planner_->plan(request);
  }
  int calls() const { return calls_; }
  void set_version(int version) { info_.version = version; }

 private:
  std::unique_ptr<Planner> planner_;
  PlannerInfo info_;
  mutable std::atomic<int> calls_{0};
};

/// Four activations that are needed again, and no room for all of them.
inline PlanGraph network() {
  PlanGraph graph;
  graph.name = "net";
  graph.buffers = {{"x", 4096, BufferKind::input}, {"w", 4096, BufferKind::parameter}};
  std::int32_t last = 0;
  for (int i = 0; i < 4; ++i) {
    graph.buffers.push_back({fmt::format("a{}", i), 100000, BufferKind::temporary});
    graph.ops.push_back({fmt::format("f{}", i), "f", {last, 1}, {2 + i}, 512, 1e-4 * (i + 1), false, false});
    last = 2 + i;
  }
  for (int i = 3; i >= 0; --i) {
    const auto gradient = static_cast<std::int32_t>(graph.buffers.size());
    graph.buffers.push_back({fmt::format("g{}", i), 100000, BufferKind::temporary});
    graph.ops.push_back({fmt::format("b{}", i), "b", {last, 2 + i}, {gradient}, 0, 1e-4, true, false});
    last = gradient;
  }
  graph.ops.push_back({"update", "sgd", {last, 1}, {1}, 0, 1e-5, false, true});
  check(graph);
  return graph;
}

inline DeviceSpec device() {
  DeviceSpec spec;
  spec.name = "test";
  spec.memory_bytes = 420000;
  spec.host_bytes = 10000000;
  spec.h2d_bytes_per_second = spec.d2h_bytes_per_second = 1e9;
  spec.duplex_bytes_per_second = 1.5e9;
  return spec;
}

inline PlanRequest request_for(const PlanGraph& graph) {
  PlanRequest request;
  request.graph = &graph;
  request.device = device();
  request.search_evaluations = 30;
  return request;
}

/// The text of the plan without what the clock says of the search.
inline std::string steps_of(Program program) {
  program.search = {};
  return plan_to_json(program);
}

class PlanCacheTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  PlanCache cache_{folder_.path("plans")};
  CountingPlanner planner_;
  PlanGraph graph_ = network();
};

}  // namespace swapadvisor
