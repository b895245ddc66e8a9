// `--precision bf16` as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <process.h>
#include <temporary_folder.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace swapadvisor::test {
namespace {

using testing::HasSubstr;

nlohmann::json train(std::vector<std::string> options) {
  const std::vector<std::string> always{"train",        "resnet20", "--image-size", "16", "--width",   "4",
                                        "--batch-size", "32",       "--steps",      "9",  "--threads", "1",
                                        "--quiet",      "--json"};
  options.insert(options.begin(), always.begin(), always.end());
  Process process(options, {"SWAPADVISOR_CACHE_SIZE=0"});
  EXPECT_EQ(process.finish(), 0) << process.error();
  return process.out().empty() ? nlohmann::json() : nlohmann::json::parse(process.out());
}

TEST(PrecisionCommand, Bfloat16NeedsLessMemoryAndGivesTheSameBitsUnderALimit) {
  const auto single = train({}), narrow = train({"--precision", "bf16"}),
             limited = train({"--precision", "bf16", "--memory-limit", "40%", "--search-evaluations", "100"});
  EXPECT_NE(single["parameters_hash"], narrow["parameters_hash"]);
  EXPECT_EQ(narrow["parameters_hash"], limited["parameters_hash"]);
  EXPECT_GT(limited["swap_in_bytes"], narrow["swap_in_bytes"]);
  EXPECT_LT(narrow["device_bytes_needed"].get<double>(), 0.75 * single["device_bytes_needed"].get<double>());
}

TEST(PrecisionCommand, RunsResumeInThePrecisionTheyBeganIn) {
  const TemporaryFolder folder;
  const std::string runs = folder.path("runs");
  const std::vector<std::string> checkpoints{"--checkpoint-dir", runs, "--checkpoint-every", "4",
                                             "--keep",           "9"};
  auto narrow = checkpoints;
  narrow.insert(narrow.end(), {"--precision", "bf16"});
  const auto whole = train(narrow);
  std::filesystem::remove(std::filesystem::path(runs) / "step-000000009.safetensors");
  std::filesystem::remove(std::filesystem::path(runs) / "step-000000008.safetensors");
  Process other(
      {"train", "resnet20", "--image-size", "16", "--width", "4", "--batch-size", "32", "--steps", "9",
       "--quiet", "--checkpoint-dir", runs, "--checkpoint-every", "4", "--keep", "9", "--resume"},
      {});
  EXPECT_EQ(other.finish(), 1);
  EXPECT_THAT(other.error(), HasSubstr("precision is bf16 there"));
  narrow.emplace_back("--resume");
  EXPECT_EQ(train(narrow)["parameters_hash"], whole["parameters_hash"]);
}

TEST(PrecisionCommand, OthersAreBadUsage) {
  Process process({"train", "mlp", "--precision", "fp16"}, {});
  EXPECT_EQ(process.finish(), 2);
  EXPECT_THAT(process.error(), HasSubstr("fp16 not in {fp32,bf16}"));
  Process both({"step", "mlp", "--weights", "w", "--inputs", "x", "--out", "y", "--dtype", "f64",
                "--precision", "bf16"},
               {});
  EXPECT_EQ(both.finish(), 2);
  EXPECT_THAT(both.error(), HasSubstr("--dtype f64 and --precision bf16 cannot both be"));
}

}  // namespace
}  // namespace swapadvisor::test
