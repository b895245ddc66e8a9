// swapadvisor experiment, in processes of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <process.h>
#include <swapadvisor/experiments/output.h>
#include <temporary_folder.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

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
  expect_refusal(run({"everything", "--out", out}), 2, "'everything': expected all, or some of models, ");
  expect_refusal(run({"models", "--out", out, "--threads", "-1"}), 2, "--threads");
  expect_refusal(run({"models", "--out", out, "--seed", "1.5"}), 2, "--seed");
  expect_refusal(run({"models", "--out", out, "--update", folder.path("none.md")}), 2, "none.md");
  expect_refusal(run({"limit", "--out", out, "--measure", "gpu"}), 2, "--measure");
  expect_refusal(run({"limit", "--out", out, "--measure", "cuda:x"}), 2, "--measure takes cuda or cuda:N");
  expect_refusal(run({"models", "--out", out, "--measure", "cuda"}), 2, "models runs nothing on a GPU");
  expect_refusal(run({"models", "more", "--out", out}), 2, "'more': expected all, or some of models, ");
  expect_refusal(run({"Models", "--out", out}), 2, "'Models': expected all, or some of models, ");
  expect_refusal(run({"models", "--out", out, "--measure", "cpu"}), 2, "--measure takes cuda or cuda:N");
  expect_refusal(run({"models", "--out", out, "--update", folder.path()}), 2, "--update");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(ExperimentCommand, FoldersOfOthersAreRefusedBeforeAnyWork) {
  const TemporaryFolder folder;
  folder.write("precious.txt", "mine");
  expect_refusal(run({"all", "--out", folder.path()}), 1, "give another one");
  EXPECT_EQ(folder.file_count(), 1);
  expect_refusal(run({"all", "--out", folder.path("precious.txt")}), 1, "precious.txt");
}

TEST(ExperimentCommand, FoldersThatCannotBeMadeAreRefusedBeforeAnyWork) {
  const TemporaryFolder folder;
  folder.write("file", "mine");
  const auto refused = [](const std::string& out, const std::string& part) {
    expect_refusal(run({"all", "--out", out}), 1, part);
  };
  refused(folder.path("file/results"), "Not a directory");
  refused("/proc/self/results", "the folder cannot be made");
  refused("/dev/null", "the folder cannot be made");
  refused(folder.path(std::string(300, 'x')), "File name too long");
  std::filesystem::create_symlink(folder.path("nowhere"), folder.path("dangling"));
  refused(folder.path("dangling"), "dangling");
  expect_refusal(run({"all", "--out", ""}), 2, "--out");
  EXPECT_EQ(folder.read("file"), "mine");
  EXPECT_EQ(folder.file_count(), 2);
}

TEST(ExperimentCommand, DocumentsWithoutAPlaceForTheTablesAreRefusedBeforeAnyWork) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  const auto refused = [&](std::vector<std::string> words, const std::string& text, const std::string& part) {
    const std::string path = folder.write("d.md", text);
    words.insert(words.end(), {"--out", out, "--update", path});
    expect_refusal(run(words), 1, part);
    EXPECT_EQ(folder.read("d.md"), text);
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  refused({"all"}, "", "there is nothing to update");
  refused({"rivals", "models", "models"}, "<!-- experiment:search -->\n<!-- end -->\n",
          "TABLE one of models, rivals");
  refused({"models"}, "<!-- experiment:rivals -->\n<!-- end -->\n", "TABLE one of models");
  refused({"all"}, "<!-- experiment:modles -->\n<!-- end -->\n", "no experiment has a table 'modles'");
  refused({"all"}, "<!-- experiment:models -->\n", "there is no line '<!-- end -->'");
}

// Ctrl-C: one sentence, and nothing is left that was not there.
TEST(ExperimentCommand, InterruptedItLeavesNothing) {
  const TemporaryFolder folder;
  const std::string out = folder.path("a/b c");
  Process process({"experiment", "rivals", "--out", out, "--full"});
  while (process.is_running() && !std::filesystem::exists(out + "/manifest.json"))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.signal(SIGINT);
  EXPECT_EQ(process.finish(), 1);
  EXPECT_EQ(process.error(), "swapadvisor: interrupted: nothing was written\n");
  EXPECT_EQ(process.out(), "");
  EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
}

// Whatever ends it: the next one can use the folder.
TEST(ExperimentCommand, KilledItLeavesAFolderThatTheNextOneTakes) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  Process process({"experiment", "rivals", "--out", out, "--full"});
  while (process.is_running() && !std::filesystem::exists(out + "/manifest.json"))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.signal(SIGKILL);
  EXPECT_EQ(process.finish(), 128 + SIGKILL);
  ASSERT_TRUE(std::filesystem::exists(out + "/manifest.json"));
  EXPECT_NO_THROW(ResultFolder{out});
  EXPECT_TRUE(std::filesystem::exists(out + "/manifest.json")) << "it was there before";
}

}  // namespace
}  // namespace swapadvisor
