#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/baselines.h>
#include <swapadvisor/swap/demand.h>
#include <swapadvisor/swap/joint_planner.h>
#include <swapadvisor/swap/none.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/swapadvisor_planner.h>

namespace swapadvisor {
namespace {

std::vector<std::unique_ptr<Planner>> all_planners() {
  std::vector<std::unique_ptr<Planner>> planners;
  planners.push_back(std::make_unique<NonePlanner>());
  planners.push_back(std::make_unique<LruPlanner>());
  planners.push_back(std::make_unique<BeladyPlanner>());
  planners.push_back(std::make_unique<TflmsPlanner>());
  planners.push_back(std::make_unique<VdnnPlanner>(VdnnPlanner::Layers::convolution));
  planners.push_back(std::make_unique<VdnnPlanner>(VdnnPlanner::Layers::all));
  planners.push_back(std::make_unique<SuperNeuronsPlanner>());
  planners.push_back(std::make_unique<CheckpointPlanner>());
  planners.push_back(std::make_unique<ZeroOffloadPlanner>());
  planners.push_back(std::make_unique<SwapAdvisorPlanner>());
  planners.push_back(std::make_unique<JointPlanner>());
  return planners;
}

}  // namespace

std::vector<PlannerInfo> planner_list() {
  std::vector<PlannerInfo> list;
  for (const auto& planner : all_planners()) list.push_back(planner->info());
  return list;
}

std::unique_ptr<Planner> make_planner(std::string_view name) {
  std::string names;
  for (auto& planner : all_planners()) {
    if (planner->name() == name) return std::move(planner);
    names += (names.empty() ? "" : ", ") + planner->name();
  }
  fail("there is no planner '{}': choose from {}", name, names);
}

}  // namespace swapadvisor
