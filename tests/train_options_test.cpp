// The options of `train` that are about training itself, through the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/safetensors.h>
#include <temporary_folder.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "process.h"

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Words tiny{"train",    "mlp", "--image-size", "8", "--hidden", "16",
                 "--layers", "2",   "--threads",    "1", "--json"};

nlohmann::json succeed(const Words& words) {
  Process process(words);
  EXPECT_EQ(process.finish(), 0) << process.error();
  return nlohmann::json::parse(process.out(), nullptr, false);
}

std::string refuse(const Words& words, int code) {
  Process process(words);
  EXPECT_EQ(process.finish(), code) << process.error();
  return process.error();
}

std::vector<float> tensor(const std::string& path, const std::string& name) {
  const SafetensorsFile file(path);
  const StoredTensor* found = file.find(name);
  EXPECT_NE(found, nullptr) << name;
  std::vector<float> values(static_cast<std::size_t>(found->shape.numel()));
  file.read_as(*found, DType::f32, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(TrainOptions, LogsOfEveryKind) {
  const TemporaryFolder folder;
  succeed(tiny + Words{"--steps", "12", "--batch-size", "8", "--clip", "1", "--log", folder.path("log.jsonl"),
                       "--tensorboard", folder.path("board"), "--plot", folder.path("loss.svg")});
  const std::string log = folder.read("log.jsonl");
  const nlohmann::json first = nlohmann::json::parse(log.substr(0, log.find('\n')));
  EXPECT_GT(first.at("gradient_norm"), 0);
  EXPECT_GT(first.at("loss"), 0);
  const std::string svg = folder.read("loss.svg");
  EXPECT_THAT(svg, AllOf(testing::StartsWith("<svg"), HasSubstr("mlp"), testing::EndsWith("</svg>\n")));
  std::string events;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("board")))
    events += folder.read("board/" + entry.path().filename().string());
  for (const char* tag : {"train/loss", "train/accuracy", "train/learning_rate", "train/gradient_norm"})
    EXPECT_THAT(events, HasSubstr(tag));
}

TEST(TrainOptions, AccumulationIsABatchOfAllMicroBatches) {
  const TemporaryFolder folder;
  const Words run = tiny + Words{"--steps", "5", "--optimizer", "lamb", "--lr", "0.01"};
  const auto one = succeed(run + Words{"--batch-size", "24", "--out", folder.path("one")});
  const auto three =
      succeed(run + Words{"--batch-size", "8", "--accumulate", "3", "--out", folder.path("three")});
  EXPECT_NEAR(one.at("final_loss"), three.at("final_loss"), 1e-5);
  for (const char* name : {"fc1.weight", "fc3.bias"}) {
    const auto a = tensor(folder.path("one"), name), b = tensor(folder.path("three"), name);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5) << name << i;
  }
  EXPECT_THAT(refuse({"eval", "mlp", "--weights", folder.path("one"), "--accumulate", "3"}, 2),
              HasSubstr("--accumulate"));
}

TEST(TrainOptions, AveragesAreWhatIsEvaluatedSavedAndExported) {
  const TemporaryFolder folder;
  const std::string checkpoints = folder.path("checkpoints");
  succeed(tiny + Words{"--steps", "8", "--batch-size", "8", "--ema", "0.8", "--out", folder.path("out"),
                       "--checkpoint-dir", checkpoints});
  const auto done = succeed({"export", checkpoints, "--out", folder.path("averages"), "--ema", "--json"});
  EXPECT_EQ(done.at("steps"), 8);
  EXPECT_EQ(done.at("model"), "mlp");
  succeed({"export", checkpoints + "/step-000000008.safetensors", "--out", folder.path("weights"), "--json"});
  EXPECT_EQ(tensor(folder.path("out"), "fc1.weight"), tensor(folder.path("averages"), "fc1.weight"));
  EXPECT_NE(tensor(folder.path("out"), "fc1.weight"), tensor(folder.path("weights"), "fc1.weight"));
  succeed(tiny + Words{"--steps", "1", "--batch-size", "8", "--weights", folder.path("weights")});
  EXPECT_THAT(refuse({"export", folder.path("none"), "--out", folder.path("x")}, 1), HasSubstr("none"));
  EXPECT_THAT(refuse({"export", folder.path("out"), "--out", folder.path("x")}, 1),
              HasSubstr("is no checkpoint"));
}

TEST(TrainOptions, AResumedRunMustBeTheSameRun) {
  const TemporaryFolder folder;
  const Words where{"--checkpoint-dir", folder.path("checkpoints"), "--batch-size", "8"};
  succeed(tiny + where + Words{"--steps", "4", "--lr-schedule", "constant"});
  EXPECT_THAT(refuse(tiny + where + Words{"--steps", "4"}, 1), HasSubstr("go on from them with --resume"));
  EXPECT_THAT(refuse(tiny + where +
                         Words{"--steps", "4", "--lr-schedule", "constant", "--lr", "0.05", "--seed", "2",
                               "--resume"},
                     1),
              AllOf(HasSubstr("the checkpoint is of another run"), HasSubstr("lr is 0.1 there, 0.05 here"),
                    HasSubstr("seed is 1 there, 2 here")));
  // With a rate that does not depend on it, a run may be made longer.
  const auto longer = succeed(tiny + where + Words{"--steps", "6", "--lr-schedule", "constant", "--resume"});
  const auto whole = succeed(tiny + Words{"--batch-size", "8", "--steps", "6", "--lr-schedule", "constant"});
  EXPECT_EQ(longer.at("parameters_hash"), whole.at("parameters_hash"));
  EXPECT_THAT(refuse(tiny + where + Words{"--steps", "6", "--lr-schedule", "cosine", "--resume"}, 1),
              HasSubstr("lr-schedule"));
}

TEST(TrainOptions, OtherTextOfTheSameLengthIsAnotherRun) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "the same length\n";
  folder.write("one.txt", text);
  text[3] = '-';
  folder.write("two.txt", text);
  const Words gpt{"train",         "gpt2",    "--dataset",        "text",
                  "--hidden",      "8",       "--layers",         "1",
                  "--heads",       "2",       "--seq-len",        "8",
                  "--dropout",     "0",       "--json",           "--quiet",
                  "--threads",     "1",       "--checkpoint-dir", folder.path("checkpoints"),
                  "--lr-schedule", "constant"};
  succeed(gpt + Words{"--data", folder.path("one.txt"), "--batch-size", "4", "--steps", "2"});
  EXPECT_THAT(
      refuse(gpt + Words{"--data", folder.path("two.txt"), "--batch-size", "4", "--steps", "3", "--resume"},
             1),
      HasSubstr("checksum of the data is"));
  const auto same =
      succeed(gpt + Words{"--data", folder.path("one.txt"), "--batch-size", "4", "--steps", "3", "--resume"});
  EXPECT_EQ(same.at("steps"), 3);
  EXPECT_EQ(same.at("interrupted"), false);
  EXPECT_THAT(refuse({"train", "gpt2", "--dataset", "text", "--data", folder.path("one.txt"), "--hidden", "8",
                      "--layers", "1", "--heads", "2", "--seq-len", "1"},
                     1),
              HasSubstr("a sequence length of 1 leaves no next token to predict"));
}

TEST(TrainOptions, APlotStaysWhenNothingIsLeftToDo) {
  const TemporaryFolder folder;
  const Words all = tiny + Words{"--steps",          "3",
                                 "--batch-size",     "8",
                                 "--plot",           folder.path("loss.svg"),
                                 "--checkpoint-dir", folder.path("checkpoints"),
                                 "--resume"};
  succeed(all);
  const std::string picture = folder.read("loss.svg");
  succeed(all);
  EXPECT_EQ(folder.read("loss.svg"), picture);
}

TEST(TrainOptions, BadUsage) {
  for (const char* option :
       {"--out", "--log", "--plot", "--checkpoint-dir", "--weights", "--plan"})
    EXPECT_THAT(refuse(tiny + Words{option, ""}, 2),
                AllOf(HasSubstr(option), HasSubstr("its value is empty")));
  EXPECT_THAT(refuse(tiny + Words{"--resume"}, 2), HasSubstr("--checkpoint-dir"));
  EXPECT_THAT(refuse(tiny + Words{"--keep", "0", "--checkpoint-dir", "x"}, 2), HasSubstr("--keep"));
  EXPECT_THAT(refuse(tiny + Words{"--clip", "0"}, 2),
              HasSubstr("--clip: '0' is not a number in (0 - 1e+30]"));
  EXPECT_THAT(refuse(tiny + Words{"--ema", "1"}, 2), HasSubstr("--ema: '1' is not a number in (0 - 1)"));
  EXPECT_THAT(refuse(tiny + Words{"--dropout", "1"}, 2),
              HasSubstr("--dropout: '1' is not a number in [0 - 1)"));
  EXPECT_THAT(refuse(tiny + Words{"--accumulate", "0"}, 2), HasSubstr("--accumulate"));
  EXPECT_THAT(refuse(tiny + Words{"--optimizer", "lamb", "--momentum", "0.5"}, 2),
              HasSubstr("--momentum is not an option of lamb"));
}

}  // namespace
}  // namespace swapadvisor
