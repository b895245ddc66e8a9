// What the commands do with the cache and with Ctrl-C, in processes of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <process.h>
#include <signal.h>
#include <swapadvisor/core/file.h>
#include <temporary_folder.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

namespace swapadvisor {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Words net{"mlp", "--image-size", "8", "--hidden",  "256",  "--layers",
                "4",   "--batch-size", "8", "--planner", "joint"};
const Words limit{"--memory-limit", "60%"};
/// Too slow to hide the copies: a search always has something left to find.
const Words endless{"--threads", "1", "--link-bandwidth", "5MB/s", "--search-seconds", "1e6"};
const Words budget{"--search-evaluations", "20"};

class Planning : public testing::Test {
 protected:
  Words environment() const { return {"SWAPADVISOR_CACHE_DIR=" + cache(), "SWAPADVISOR_CACHE_SIZE="}; }
  std::string cache() const { return folder_.path("plans"); }
  /// Runs to the end.
  std::unique_ptr<Process> run(const Words& words) const {
    auto process = std::make_unique<Process>(words, environment());
    EXPECT_EQ(process->finish(), 0) << process->error();
    return process;
  }
  nlohmann::json json(const Words& words) const {
    return nlohmann::json::parse(run(words + Words{"--json"})->out());
  }

  TemporaryFolder folder_;
};

TEST_F(Planning, PlanTakesThePlanFromTheCache) {
  const Words plan = Words{"plan"} + net + limit + budget;
  const auto first = json(plan);
  EXPECT_FALSE(first["cached"]);
  const auto again = json(plan);
  EXPECT_TRUE(again["cached"]);
  for (const char* part : {"predicted", "search", "planner"}) EXPECT_EQ(again[part], first[part]) << part;
  const std::string out = run(plan)->out();
  EXPECT_THAT(out, testing::StartsWith("plan from the cache: " + cache() + "/"));
  EXPECT_THAT(out, HasSubstr(".plan.json, planned 20"));
  EXPECT_FALSE(json(plan + Words{"--no-cache"})["cached"]);
  EXPECT_FALSE(json(plan + Words{"--seed", "2", "--no-cache"})["cached"]);
  EXPECT_EQ(json({"cache"})["plans"], 1);
  EXPECT_GT(json({"cache"})["bytes"], 1000);
  EXPECT_EQ(json({"cache"})["directory"], cache());
  // What compare makes is what plan finds, and the other way round.
  const auto compared = json(Words{"compare"} + Words(net.begin(), net.end() - 2) + limit + budget +
                             Words{"--planners", "belady,swapadvisor,joint"});
  EXPECT_FALSE(compared["planners"][0]["cached"]);
  EXPECT_FALSE(compared["planners"][1]["cached"]);
  EXPECT_TRUE(compared["planners"][2]["cached"]);
  EXPECT_EQ(compared["planners"][2]["predicted"], first["predicted"]);
  const auto cleared = json({"cache", "--clear"});
  EXPECT_EQ(cleared["removed_plans"], 2);
  EXPECT_EQ(cleared["plans"], 0);
  EXPECT_FALSE(json(plan)["cached"]);
}

TEST_F(Planning, AnUnusableCacheIsAWarning) {
  folder_.write("plans", "a file where the folder should be");
  const auto process = run(Words{"plan"} + net + limit + budget + Words{"--json"});
  EXPECT_FALSE(nlohmann::json::parse(process->out())["cached"]);
  EXPECT_THAT(process->error(), HasSubstr("swapadvisor: warning: the plan cannot be kept in the cache: "));
  EXPECT_THAT(process->error(), HasSubstr(cache()));
  Process wrong(Words{"plan"} + net + limit + budget, {"SWAPADVISOR_CACHE_SIZE=much"});
  EXPECT_EQ(wrong.finish(), 1);
  EXPECT_THAT(wrong.error(), HasSubstr("SWAPADVISOR_CACHE_SIZE: 'much' is not a size"));
}

TEST_F(Planning, TrainLooksInTheCacheWhateverItMeasures) {
  const Words train = Words{"train"} + net + limit + budget + Words{"--steps", "3", "--threads"};
  const auto first = json(train + Words{"1"});
  EXPECT_FALSE(first["cached"]);
  ASSERT_EQ(json({"cache"})["plans"], 1);
  const auto again = run(train + Words{"1"});
  // On a busy machine the times may be too far from the first ones; then the file is replaced.
  EXPECT_THAT(again->error(), testing::AnyOf(HasSubstr("plan from the cache: " + cache()),
                                             HasSubstr("the plan in the cache was not used: " + cache())));
  EXPECT_THAT(again->out(), HasSubstr("parameters " + first["parameters_hash"].get<std::string>()));
  EXPECT_EQ(json({"cache"})["plans"], 1);
  json(train + Words{"2"});
  EXPECT_EQ(json({"cache"})["plans"], 2);
  EXPECT_FALSE(json(train + Words{"1", "--no-cache"})["cached"]);
}

TEST_F(Planning, CtrlCDuringTheSearchTrainsWithTheBestPlanSoFar) {
  Process train(Words{"train"} + net + limit + endless + Words{"--steps", "3"}, environment());
  ASSERT_TRUE(train.wait_for(" plans")) << train.error();
  train.signal(SIGINT);
  EXPECT_EQ(train.finish(), 0) << train.error();
  EXPECT_THAT(train.error(), HasSubstr("search stopped after "));
  EXPECT_THAT(train.out(), HasSubstr("3 steps in "));
  EXPECT_EQ(json({"cache"})["plans"], 0);  // not what the whole budget would have found
}

TEST_F(Planning, CtrlCAgainEndsTheTraining) {
  const std::string weights = folder_.path("w.safetensors"), log = folder_.path("l.jsonl");
  Process train(
      Words{"train"} + net + limit + endless + Words{"--steps", "1000000000", "--out", weights, "--log", log},
      environment());
  ASSERT_TRUE(train.wait_for(" plans")) << train.error();
  train.signal(SIGINT);
  ASSERT_TRUE(train.wait_for("search stopped after ")) << train.error();
  while (train.is_running() && folder_.read("l.jsonl").empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  train.signal(SIGINT);
  EXPECT_EQ(train.finish(), 0) << train.error();
  EXPECT_THAT(train.out(), HasSubstr(" steps in "));
  EXPECT_TRUE(std::filesystem::exists(weights));
}

TEST_F(Planning, CtrlCDuringPlanKeepsTheBestPlan) {
  const std::string graph = folder_.path("g.json"), out = folder_.path("p.json");
  run(Words{"plan"} + net + budget + Words{"--graph-out", graph, "--no-cache"});
  const std::string device = folder_.write("d.json", R"({"format": "swapadvisor.device", "version": 1,
    "name": "slow", "h2d_bytes_per_second": 5e6, "d2h_bytes_per_second": 5e6})");
  Process plan(Words{"plan", "--graph", graph, "--device", device, "--planner", "joint", "--search-seconds",
                     "1e6", "--out", out} +
                   limit,
               environment());
  ASSERT_TRUE(plan.wait_for(" plans")) << plan.error();
  plan.signal(SIGINT);
  EXPECT_EQ(plan.finish(), 0) << plan.error();
  EXPECT_EQ(run({"verify", out})->out(), out + ": valid\n");
  EXPECT_EQ(json({"cache"})["plans"], 0);
}

}  // namespace
}  // namespace swapadvisor
