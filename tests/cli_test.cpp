#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/safetensors.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <temporary_folder.h>

#include <filesystem>

namespace swapadvisor {
namespace {

struct Result {
  int code = 0;
  std::string out, error;
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

Result run(std::vector<std::string> words) {
  std::vector<const char*> argv{"swapadvisor"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Result result;
  result.code = run_command_line(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  result.out = testing::internal::GetCapturedStdout();
  result.error = testing::internal::GetCapturedStderr();
  return result;
}

/// A failure says one sentence: one line, with the program's name.
void expect_refusal(const Result& result, int code, const std::string& part) {
  EXPECT_EQ(result.code, code) << result.error;
  EXPECT_THAT(result.error, testing::StartsWith("swapadvisor: "));
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
  EXPECT_THAT(result.error, testing::HasSubstr(part));
  EXPECT_EQ(result.out, "");
}

const std::vector<std::string> tiny{"mlp", "--image-size", "8", "--hidden", "16", "--layers", "2", "--batch-size", "8"};

std::vector<std::string> words(std::initializer_list<std::string> first, const std::vector<std::string>& rest,
                               std::initializer_list<std::string> last = {}) {
  std::vector<std::string> all(first);
  all.insert(all.end(), rest.begin(), rest.end());
  all.insert(all.end(), last);
  return all;
}

TEST(CommandLine, HelpEverywhere) {
  EXPECT_EQ(run({"--help"}).code, 0);
  EXPECT_THAT(run({"--version"}).out, testing::HasSubstr("swapadvisor 0."));
  for (const char* command : {"train", "eval", "step", "profile", "plan", "simulate", "verify", "cache", "export",
                              "models", "planners", "devices"}) {
    const Result help = run({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.out, testing::HasSubstr("--json")) << command;
  }
}

TEST(CommandLine, NamesInFilesDoNotBreakTheSentence) {
  const TemporaryFolder folder;
  const std::string name = "two\\nlines\\u001b[31m" + std::string(10000, 'x');
  const std::string graph = folder.write(
      "graph.json", R"({"format":"swapadvisor.graph","version":1,"ops":[],"buffers":[{"name":")" + name + R"("}]})");
  const Result result = run({"plan", "--graph", graph});
  expect_refusal(result, 1, "buffer 0 'two\\x0alines\\x1b[31mxxx");
  EXPECT_LT(result.error.size(), 2100u);
}

TEST(CommandLine, BadUsageIsExitCode2) {
  expect_refusal(run({}), 2, "subcommand");
  expect_refusal(run({"frobnicate"}), 2, "unknown command 'frobnicate'");
  for (const char* rate : {"nan", "inf", "-1", "", "1e400"})
    expect_refusal(run(words({"train"}, tiny, {"--lr", rate})), 2, "--lr");
  expect_refusal(run(words({"train"}, tiny, {"--momentum", "1"})), 2, "--momentum");
  expect_refusal(run(words({"train"}, tiny, {"--momentum", "0", "--nesterov"})), 2, "Nesterov");
  expect_refusal(run(words({"train"}, tiny, {"--optimizer", "adam", "--momentum", "0.5"})), 2,
                 "--momentum is not an option of adam");
  expect_refusal(run(words({"train"}, tiny, {"--beta2", "0.5"})), 2, "--beta2 is not an option of sgd");
  expect_refusal(run(words({"train"}, tiny, {"--optimizer", "adamw", "--beta1", "1"})), 2, "--beta1");
  expect_refusal(run(words({"train"}, tiny, {"--optimizer", "adan"})), 2, "adan");
  expect_refusal(run(words({"train"}, tiny, {"--width", "3"})), 2, "width");
  expect_refusal(run(words({"train"}, tiny, {"--label-smoothing", "nan"})), 2, "--label-smoothing");
  expect_refusal(run(words({"train"}, tiny, {"--link-bandwidth", "1000"})), 2, "1MB/s");
  expect_refusal(run({"train", "resnet20", "--dataset", "mnist"}), 2, "--data");
  expect_refusal(run({"plan", "resnet20", "--device", "abacus"}), 2, "v100-16g");
  expect_refusal(run({"plan", "resnet20", "--device", "cpu"}), 2, "profile");
  for (const char* seed : {"-1", "18446744073709551616", "1.5", "x"})
    expect_refusal(run({"plan", "resnet20", "--seed", seed}), 2, "--seed");
  expect_refusal(run({"plan", "resnet20", "--search-seconds", "nan"}), 2, "--search-seconds");
  expect_refusal(run({"train"}), 2, "MODEL");
  expect_refusal(run({"train", "resnet21"}), 2, "resnet20");
  expect_refusal(run(words({"train"}, tiny, {"--planner", "magic"})), 2, "belady");
  expect_refusal(run(words({"train"}, tiny, {"--memory-limit", "many"})), 2, "many");
  expect_refusal(run(words({"train"}, tiny, {"--no-such-option"})), 2, "no-such-option");
  expect_refusal(run(words({"train"}, tiny, {"--dataset", "imagenet"})), 2, "imagenet");
  expect_refusal(run(words({"train"}, tiny, {"--steps", "1", "--epochs", "1"})), 2, "steps");
  expect_refusal(run(words({"train"}, tiny, {"--device", "tpu"})), 2, "tpu");
}

TEST(CommandLine, FailuresAreExitCode1) {
  expect_refusal(run(words({"train"}, tiny, {"--quiet", "--memory-limit", "700"})), 1, "limit 700 B");
  expect_refusal(run({"train", "resnet20", "--quiet", "--dataset", "mnist", "--data", "/nowhere"}), 1, "/nowhere");
  expect_refusal(run({"simulate", "/nowhere/plan.json"}), 1, "/nowhere/plan.json");
}

TEST(CommandLine, ListsAreJson) {
  EXPECT_GE(run({"models", "--json"}).json()["models"].size(), 10u);
  EXPECT_EQ(run({"planners", "--json"}).json()["planners"][0]["name"], "none");
  EXPECT_EQ(run({"devices", "--json"}).json()["devices"][0]["name"], "cpu");
}

TEST(CommandLine, ProfilePlanVerifySimulateTrain) {
  const TemporaryFolder folder;
  const std::string graph = folder.path("g.json"), device = folder.path("d.json"), plan = folder.path("p.json");
  const std::string weights = folder.path("w.safetensors"), trace = folder.path("t.json"), log = folder.path("l.jsonl");
  ASSERT_EQ(run(words({"profile"}, tiny, {"--out", graph, "--device-out", device, "--repeats", "1", "--quiet"})).code, 0);
  const Result planned = run({"plan", "--graph", graph, "--device", device, "--memory-limit", "70%", "--planner",
                              "belady", "--out", plan, "--json"});
  ASSERT_EQ(planned.code, 0) << planned.error;
  EXPECT_LE(planned.json()["predicted"]["peak_bytes"], planned.json()["device_bytes_limit"]);
  EXPECT_TRUE(run({"verify", plan, "--json"}).json()["valid"]);
  EXPECT_EQ(run({"simulate", plan, "--json"}).json()["predicted"], planned.json()["predicted"]);
  const Result free = run(words({"train"}, tiny, {"--steps", "4", "--json"}));
  ASSERT_EQ(free.code, 0) << free.error;
  const Result limited = run(words({"train"}, tiny, {"--steps", "4", "--json", "--plan", plan, "--memory-limit", "70%",
                                                     "--out", weights, "--trace", trace, "--log", log}));
  ASSERT_EQ(limited.code, 0) << limited.error;
  for (const char* field : {"final_loss_hex", "parameters_hash"}) EXPECT_EQ(free.json()[field], limited.json()[field]);
  EXPECT_LE(limited.json()["device_bytes_peak"], limited.json()["device_bytes_limit"]);
  EXPECT_EQ(run(words({"eval"}, tiny, {"--weights", weights, "--json"})).code, 0);
  for (const std::string& file : {weights, trace, log}) EXPECT_TRUE(std::filesystem::exists(file));
  expect_refusal(run({"train", "mlp", "--image-size", "9", "--quiet", "--steps", "1", "--plan", plan}), 1,
                 "another graph");
}

TEST(CommandLine, AdamUnderALimitIsAdamWithoutOne) {
  const auto train = [](std::initializer_list<std::string> more) {
    const Result result = run(words({"train"}, tiny, more));
    EXPECT_EQ(result.code, 0) << result.error;
    return result.json();
  };
  const auto of = [&](const std::string& optimizer, const std::string& option, const std::string& value) {
    return train({"--steps", "6", "--json", "--threads", "1", "--optimizer", optimizer, option, value});
  };
  const auto free = of("adamw", "--memory-limit", "100%"), limited = of("adamw", "--memory-limit", "70%");
  for (const char* field : {"final_loss_hex", "parameters_hash"}) EXPECT_EQ(free[field], limited[field]);
  EXPECT_GT(limited["swap_in_bytes"], free["swap_in_bytes"]);
  EXPECT_EQ(free["parameters_hash"], of("adamw", "--weight-decay", "0.01")["parameters_hash"]);  // the default
  EXPECT_NE(free["parameters_hash"], of("adam", "--weight-decay", "0.01")["parameters_hash"]);
  for (const char* option : {"--beta1", "--beta2", "--eps"})
    EXPECT_NE(free["parameters_hash"], of("adamw", option, "0.5")["parameters_hash"]) << option;
}

TEST(CommandLine, TrainsOnCifarWithTheClassesOfTheData) {
  const TemporaryFolder folder;
  const std::string weights = folder.path("w.safetensors");
  std::string records;
  for (int i = 0; i < 8; ++i) {
    records += {static_cast<char>(i), static_cast<char>(99 - i)};  // coarse and fine label
    records += std::string(3072, static_cast<char>(15 * i));
  }
  folder.write("train.bin", records);
  folder.write("test.bin", records.substr(0, 3 * 3074));
  const std::vector<std::string> data{"mlp", "--hidden", "8", "--layers", "1", "--batch-size", "4", "--dataset", "cifar100",
                                      "--data", folder.path(), "--threads", "1"};
  const Result trained = run(words({"train"}, data, {"--augment", "crop,flip", "--out", weights, "--json"}));
  ASSERT_EQ(trained.code, 0) << trained.error;
  EXPECT_EQ(trained.json()["steps"], 2);
  EXPECT_THAT(trained.error, testing::HasSubstr("swapadvisor: warning: files of CIFAR-100 in"));
  EXPECT_THAT(trained.error, testing::HasSubstr("train.bin has 8;"));
  const Result tested = run(words({"eval"}, data, {"--weights", weights, "--json"}));
  ASSERT_EQ(tested.code, 0) << tested.error;
  EXPECT_EQ(tested.json()["samples"], 3);
  EXPECT_EQ(tested.json()["test_accuracy"], trained.json()["test_accuracy"]);
  EXPECT_THAT(folder.read("w.safetensors").substr(0, 20000), testing::HasSubstr("[100,8]"));  // fc2.weight
  expect_refusal(run(words({"train"}, data, {"--quiet", "--classes", "10"})), 1,
                 "classes 10 was asked for, but the cifar100 data have 100");
}

TEST(CommandLine, PlanNeedsAModelOrAGraph) {
  expect_refusal(run({"plan"}), 2, "MODEL");
  const Result planned = run({"plan", "resnet50", "--device", "v100-16g", "--batch-size", "256", "--json",
                              "--search-evaluations", "20"});
  EXPECT_EQ(planned.json()["planner"], "joint");
}

TEST(CommandLine, CompareShowsPlannersSideBySide) {
  const auto compared = run({"compare", "resnet20", "--batch-size", "4", "--memory-limit", "50%", "--planners",
                             "none,lru,joint", "--search-evaluations", "20", "--json"})
                            .json();
  ASSERT_EQ(compared["planners"].size(), 3u);
  for (const auto& row : compared["planners"]) {
    EXPECT_TRUE(row["valid"]) << row;
    EXPECT_GE(row["predicted"]["iteration_seconds"], compared["bound_seconds"]);
  }
  EXPECT_EQ(compared["planners"][0]["predicted"]["efficiency"], 1.0);  // none: as if there were no limit
  EXPECT_LT(compared["planners"][1]["predicted"]["efficiency"], compared["planners"][2]["predicted"]["efficiency"]);
  EXPECT_EQ(run({"compare", "resnet20", "--planners", "fastest"}).code, 2);
}

TEST(CommandLine, ReportsOfPlanSimulateAndCompare) {
  const TemporaryFolder folder;
  const std::string plan = folder.path("p.json"), report = folder.path("r.html");
  const std::vector<std::string> small{"resnet20", "--batch-size", "4", "--memory-limit", "50%", "--json"};
  ASSERT_EQ(run(words({"plan"}, small, {"--planner", "belady", "--out", plan, "--report", report})).code, 0);
  const std::string planned = folder.read("r.html");
  EXPECT_THAT(planned, testing::HasSubstr("\"planner\":\"belady\""));
  EXPECT_THAT(planned, testing::Not(testing::HasSubstr("\"planners\":[")));
  ASSERT_EQ(run({"simulate", plan, "--report", report, "--json"}).code, 0);
  EXPECT_EQ(folder.read("r.html"), planned);
  ASSERT_EQ(run(words({"compare"}, small, {"--planners", "none,lru,belady", "--report", report})).code, 0);
  const std::string compared = folder.read("r.html");
  EXPECT_THAT(compared, testing::HasSubstr("\"planners\":[{\"planner\":\"none\""));
  EXPECT_THAT(compared, testing::HasSubstr("\"plans\":[{\"planner\":\"belady\""));
}

TEST(CommandLine, AReportThatCannotBeWrittenIsFoundBeforePlanning) {
  // Had planning come first, this would not end.
  for (const char* command : {"plan", "compare"})
    expect_refusal(run({command, "resnet20", "--memory-limit", "50%", "--search-evaluations", "1000000000000", "--report",
                        "/nowhere/r.html", "--json"}),
                   1, "/nowhere/r.html");
  expect_refusal(run({"simulate", "/nowhere/plan.json", "--report", "/nowhere/r.html"}), 1, "/nowhere/r.html");
}

TEST(CommandLine, OutputsThatCannotBeWrittenAreFoundBeforeTheWork) {
  for (const char* option : {"--out", "--trace", "--log"})
    expect_refusal(run(words({"train"}, tiny, {"--quiet", "--steps", "1000000000", option, "/nowhere/file"})), 1,
                   "/nowhere/file");
}

TEST(CommandLine, AnUnfinishedRunStillWritesItsWeights) {
  const TemporaryFolder folder;
  const std::string weights = folder.path("w.safetensors");
  const Result diverged = run(words({"train"}, tiny, {"--quiet", "--steps", "100", "--lr", "1e25", "--out", weights}));
  expect_refusal(diverged, 1, "the loss is not finite");
  EXPECT_THAT(diverged.error, testing::HasSubstr("written to " + weights));
  EXPECT_TRUE(std::filesystem::exists(weights));
}

TEST(CommandLine, AnInvalidPlanIsRefusedByVerifySimulateAndTrain) {
  const TemporaryFolder folder;
  const std::string plan = folder.path("p.json");
  ASSERT_EQ(run({"plan", "resnet20", "--batch-size", "4", "--memory-limit", "50%", "--out", plan, "--json"}).code, 0);
  nlohmann::json broken = nlohmann::json::parse(folder.read("p.json"));
  broken["instructions"] = nlohmann::json::array();
  const std::string path = folder.write("broken.json", broken.dump());
  const Result verdict = run({"verify", path, "--json"});
  EXPECT_EQ(verdict.code, 1);
  EXPECT_FALSE(verdict.json()["valid"]);
  expect_refusal(run({"simulate", path}), 1, "not valid");
  const std::string garbage = folder.write("garbage.json", "{\"format\": [[[");
  EXPECT_FALSE(run({"verify", garbage, "--json"}).json()["valid"]);
}

TEST(CommandLine, AFullDiskLeavesNoFile) {
  const Result full = run({"plan", "resnet20", "--out", "/dev/full", "--quiet"});
  expect_refusal(full, 1, "/dev/full");
}

TEST(CommandLine, FreezeKeepsTheParametersOfAScope) {
  const TemporaryFolder folder;
  const auto trained = [&](const std::string& steps) {
    const std::string out = folder.path(steps + ".safetensors");
    EXPECT_EQ(run(words({"train"}, tiny, {"--steps", steps, "--freeze", "fc1,fc2.bias", "--out", out, "--quiet"})).code, 0);
    return std::make_unique<SafetensorsFile>(out);
  };
  const auto once = trained("1"), often = trained("4");
  const auto bits = [](const SafetensorsFile& file, const char* name) {
    const StoredTensor& tensor = *file.find(name);
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes()));
    file.read(tensor, bytes);
    return bytes;
  };
  for (const char* name : {"fc1.weight", "fc1.bias", "fc2.bias"}) EXPECT_EQ(bits(*once, name), bits(*often, name)) << name;
  for (const char* name : {"fc2.weight", "fc3.bias"}) EXPECT_NE(bits(*once, name), bits(*often, name)) << name;
  expect_refusal(run(words({"train"}, tiny, {"--steps", "1", "--freeze", "fc"})), 2, "has no parameter 'fc' to freeze");
}

}  // namespace
}  // namespace swapadvisor
