// swapadvisor experiment, in processes of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <process.h>
#include <swapadvisor/experiments/experiment.h>
#include <temporary_folder.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace swapadvisor {
namespace {

using testing::HasSubstr;

struct Ended {
  int code;
  std::string out, error;
};

Ended run(std::vector<std::string> words) {
  words.insert(words.begin(), "experiment");
  Process process(words);
  const int code = process.finish();
  return {code, process.out(), process.error()};
}

/// One line, before anything was made.
void expect_refusal(const Ended& ended, int code, const std::string& part) {
  EXPECT_EQ(ended.code, code) << ended.error;
  EXPECT_THAT(ended.error, testing::StartsWith("swapadvisor: "));
  EXPECT_EQ(std::count(ended.error.begin(), ended.error.end(), '\n'), 1) << ended.error;
  EXPECT_THAT(ended.error, HasSubstr(part));
  EXPECT_EQ(ended.out, "");
}

TEST(ExperimentCommand, ListsForPeopleAndPrograms) {
  const Ended people = run({"--list"});
  EXPECT_EQ(people.code, 0);
  const auto json = nlohmann::json::parse(run({"--list", "--json"}).out).at("experiments");
  const std::vector<Experiment> all = experiment_list();
  ASSERT_EQ(json.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(json[i].at("name"), all[i].name);
    EXPECT_EQ(json[i].at("summary"), all[i].summary);
    EXPECT_THAT(people.out, HasSubstr(all[i].name));
    EXPECT_THAT(people.out, HasSubstr(all[i].summary));
  }
}

TEST(ExperimentCommand, HelpIsThere) {
  const Ended help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* option : {"--list", "--out", "--full", "--measure", "--threads", "--seed", "--json"})
    EXPECT_THAT(help.out, HasSubstr(option));
}

TEST(ExperimentCommand, BadUsageMakesNothing) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  expect_refusal(run({}), 2, "--list");
  expect_refusal(run({"models"}), 2, "--out");
  expect_refusal(run({"everything", "--out", out}), 2, "'everything': expected all, or one of models, ");
  expect_refusal(run({"models", "--out", out, "--threads", "-1"}), 2, "--threads");
  expect_refusal(run({"models", "--out", out, "--seed", "1.5"}), 2, "--seed");
  expect_refusal(run({"models", "--out", out, "--update", folder.path("none.md")}), 2, "none.md");
  expect_refusal(run({"limit", "--out", out, "--measure", "gpu"}), 2, "--measure");
  expect_refusal(run({"limit", "--out", out, "--measure", "cuda:x"}), 2, "--measure takes cuda or cuda:N");
  expect_refusal(run({"models", "--out", out, "--measure", "cuda"}), 2, "models runs nothing on a GPU");
  expect_refusal(run({"models", "--out", out, "more"}), 2, "more");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(ExperimentCommand, FoldersOfOthersAreRefusedBeforeAnyWork) {
  const TemporaryFolder folder;
  folder.write("precious.txt", "mine");
  expect_refusal(run({"all", "--out", folder.path()}), 1, "give another one");
  EXPECT_EQ(folder.file_count(), 1);
  expect_refusal(run({"all", "--out", folder.path("precious.txt")}), 1, "precious.txt");
}

}  // namespace
}  // namespace swapadvisor
