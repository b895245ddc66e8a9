#include <environment.h>
#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <plan_cache_fixture.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/swap/verify.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace swapadvisor {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class PlanCacheFiles : public PlanCacheTest {};

TEST_F(PlanCacheFiles, AFolderThatCannotBeUsedCostsNoPlan) {
  folder_.write("file", "no folder");
  for (const std::string& directory : {folder_.path("file"), folder_.path("file/below")}) {
    const CachedPlan plan = PlanCache(directory).plan(planner_, request_for(graph_));
    EXPECT_TRUE(verify(plan.program).valid);
    EXPECT_FALSE(plan.cached);
    EXPECT_EQ(plan.file, "");
    EXPECT_THAT(plan.unstored, HasSubstr(folder_.path("file")));
  }
  // A folder where the file should be.
  const std::string file = cache_.plan(planner_, request_for(graph_)).file;
  fs::remove(file);
  fs::create_directory(file);
  const CachedPlan plan = cache_.plan(planner_, request_for(graph_));
  EXPECT_TRUE(verify(plan.program).valid);
  EXPECT_THAT(plan.unused, HasSubstr("directory"));
  EXPECT_THAT(plan.unstored, HasSubstr("directory"));
  // Names that no file can have.
  PlanGraph odd = graph_;
  odd.ops[0].name = "\xff";
  EXPECT_THAT(cache_.plan(planner_, request_for(odd)).unstored, HasSubstr("UTF-8"));
}

TEST_F(PlanCacheFiles, TheFilesUsedLongestAgoGoFirst) {
  std::vector<CachedPlan> plans;
  PlanRequest request = request_for(graph_);
  const auto now = fs::file_time_type::clock::now();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    request.seed = seed;
    plans.push_back(cache_.plan(planner_, request));
    fs::last_write_time(plans.back().file, now - std::chrono::hours(10 - seed));
  }
  request.seed = 1;
  ASSERT_TRUE(cache_.plan(planner_, request).cached);  // the oldest one is used again
  const std::string other = folder_.write("plans/mine.json", std::string(100000, ' '));
  const std::string left = plans[2].file + ".123.0.tmp";
  write_file_atomic(left, "half");
  fs::last_write_time(left, now - std::chrono::hours(2));
  const PlanCache smaller(cache_.directory(), cache_.contents().bytes);  // room for three of about one size
  request.seed = 4;
  request.search_evaluations = 25;  // not more than the others
  plans.push_back(smaller.plan(planner_, request));
  EXPECT_LE(smaller.contents().bytes, smaller.max_bytes());
  EXPECT_TRUE(fs::exists(plans[0].file));
  EXPECT_FALSE(fs::exists(plans[1].file));
  EXPECT_TRUE(fs::exists(plans[3].file));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_FALSE(fs::exists(left));
  const PlanCache::Contents before = cache_.contents();
  EXPECT_EQ(cache_.clear().plans, before.plans);
  EXPECT_EQ(cache_.contents().plans, 0);
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(PlanCacheFiles, APlanLargerThanTheCacheIsNotStored) {
  const PlanCache tiny(folder_.path("tiny"), 100);
  EXPECT_THAT(tiny.plan(planner_, request_for(graph_)).unstored, HasSubstr("the cache at most 100"));
  EXPECT_EQ(tiny.contents().plans, 0);
  const PlanCache off(folder_.path("off"), 0);
  EXPECT_EQ(off.plan(planner_, request_for(graph_)).unstored, "");
  EXPECT_FALSE(fs::exists(folder_.path("off")));
}

TEST_F(PlanCacheFiles, WritersAtOnceLeaveWholeFiles) {
  const Program expected = make_planner("joint")->plan(request_for(graph_));
  // Room for one plan: every store also removes what another thread just wrote.
  const PlanCache cache(folder_.path("plans"), 3 * std::ssize(plan_to_json(expected)) / 2);
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 6; ++i) {
        PlanRequest request = request_for(graph_);
        request.seed = 1 + t % 2;
        const CachedPlan plan = cache.plan(planner_, request);
        if (!verify(plan.program).valid || !plan.unused.empty() || !plan.unstored.empty()) ++wrong;
        if (request.seed == 1 && steps_of(plan.program) != steps_of(expected)) ++wrong;
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
  for (const auto& file : fs::directory_iterator(cache.directory())) {
    EXPECT_THAT(file.path().string(), testing::EndsWith(".plan.json"));
    EXPECT_TRUE(verify(read_plan(file.path().string())).valid);
  }
}

TEST(UserPlanCache, TheEnvironmentSaysWhere) {
  const ScopedVariable own("SWAPADVISOR_CACHE_DIR", "/here"), xdg("XDG_CACHE_HOME", "/xdg"),
      home("HOME", "/home/me");
  const ScopedVariable size("SWAPADVISOR_CACHE_SIZE", std::nullopt);
  EXPECT_EQ(user_plan_cache()->directory(), "/here");
  EXPECT_EQ(user_plan_cache()->max_bytes(), std::int64_t{1} << 30);
  {
    const ScopedVariable none("SWAPADVISOR_CACHE_DIR", "");
    EXPECT_EQ(user_plan_cache()->directory(), "/xdg/swapadvisor");
    const ScopedVariable relative("XDG_CACHE_HOME", "xdg");
    EXPECT_EQ(user_plan_cache()->directory(), "/home/me/.cache/swapadvisor");
    const ScopedVariable homeless("HOME", std::nullopt);
    EXPECT_FALSE(user_plan_cache());
  }
  const ScopedVariable smaller("SWAPADVISOR_CACHE_SIZE", "200MB");
  EXPECT_EQ(user_plan_cache()->max_bytes(), 200'000'000);
  const ScopedVariable wrong("SWAPADVISOR_CACHE_SIZE", "much");
  EXPECT_THAT(message_of<Error>([] { user_plan_cache(); }), HasSubstr("SWAPADVISOR_CACHE_SIZE: 'much'"));
}

}  // namespace
}  // namespace swapadvisor
