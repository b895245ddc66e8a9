// Checkpoints: to the same bits, whole or not at all, of this run or refused.
#include <expect_error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/checkpoint_options.h>
#include <swapadvisor/train/safetensors.h>
#include <swapadvisor/train/weights.h>
#include <sys/wait.h>
#include <temporary_folder.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "small_training.h"

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> bits(HostStore& host, const std::string& name) {
  const auto data = host.find(name);
  return {data.begin(), data.end()};
}

OptimizerOptions clipped_adam() {
  OptimizerOptions options;
  options.name = "adam";
  options.clip_norm = 0.5;
  options.ema_decay = 0.9;
  return options;
}

/// How a run is interrupted and continued.
struct TrainingRun {
  std::string model = "resnet20";
  OptimizerOptions optimizer = clipped_adam();
  std::int64_t steps = 9, micro_batches = 1;
  std::string folder{};
  std::int64_t every = 0, keep = 3;
  bool resume = false;
  std::int64_t stop_after = -1;  ///< steps; −1: not
  std::string limit{}, planner{};
};

struct Outcome {
  TrainReport report;
  std::vector<std::int64_t> steps;  ///< of `on_step`
};

Outcome train(const TrainingRun& run) {
  const Model model = small_model(run.model);
  const auto data = small_data(model, Split::train, 20), test = small_data(model, Split::test, 10);
  TrainerOptions options = small_run(*data, 4, run.steps, run.micro_batches);
  options.step.optimizer = run.optimizer;
  options.session.planner = run.planner;
  if (!run.limit.empty()) options.session.memory_limit = parse_size_limit(run.limit);
  std::stop_source stop;
  options.stop = stop.get_token();
  Outcome outcome;
  options.on_step = [&](const StepMetrics& m) {
    outcome.steps.push_back(m.step);
    if (m.step + 1 == run.stop_after) stop.request_stop();
  };
  CheckpointCommandOptions command;
  command.folder = run.folder;
  command.every = run.every;
  command.keep = run.keep;
  command.resume = run.resume;
  RunCheckpoints checkpoints(
      command, {.model = model.info.name, .seed = 1, .threads = 1, .options = {{"lr", "0.02"}}});
  checkpoints.set_up(options, BatchAssembler(*data, options.loader).steps_per_epoch());
  Runtime runtime({.device = {.threads = 1}});
  Trainer trainer(model, *data, test.get(), runtime, options);
  checkpoints.load(trainer, runtime.host());
  outcome.report = trainer.run();
  return outcome;
}

void expect_same(const TrainReport& a, const TrainReport& b) {
  EXPECT_EQ(a.parameters_hash, b.parameters_hash);
  EXPECT_EQ(a.final_loss, b.final_loss);
  EXPECT_EQ(a.steps, b.steps);
  ASSERT_TRUE(a.test && b.test);
  EXPECT_EQ(a.test->loss, b.test->loss);
}

TEST(Checkpoint, AResumedRunEndsWithTheSameBits) {
  for (const char* model : {"resnet20", "mlp"}) {
    SCOPED_TRACE(model);
    const Outcome whole = train({.model = model});
    const TemporaryFolder folder;
    TrainingRun part{.model = model, .folder = folder.path("checkpoints"), .every = 2, .stop_after = 3};
    train(part);
    part.stop_after = -1;
    part.resume = true;
    // Another plan than before: no plan changes a number.
    part.limit = "60%";
    part.planner = "lru";
    const Outcome resumed = train(part);
    ASSERT_FALSE(resumed.steps.empty());
    EXPECT_GE(resumed.steps.front(), 3);
    EXPECT_EQ(resumed.steps.back(), 8);
    expect_same(whole.report, resumed.report);
    // Everything is done: the same report again.
    const Outcome again = train(part);
    EXPECT_TRUE(again.steps.empty());
    expect_same(whole.report, again.report);
  }
}

TEST(Checkpoint, SgdWithMicroBatchesToo) {
  TrainingRun run;
  run.optimizer = {};
  run.optimizer.name = "sgd";
  run.micro_batches = 2;
  const Outcome whole = train(run);
  const TemporaryFolder folder;
  run.folder = folder.path();
  run.stop_after = 4;
  train(run);
  run.resume = true;
  run.stop_after = -1;
  run.limit = "50%";
  run.planner = "belady";
  expect_same(whole.report, train(run).report);
}

TEST(Checkpoint, ByDefaultAtTheEndOfEveryEpochAndTheNewestAreKept) {
  const TemporaryFolder folder;
  TrainingRun run{.model = "mlp", .steps = 17, .folder = folder.path(), .keep = 2};
  train(run);  // 5 steps an epoch
  EXPECT_THAT(
      CheckpointFolder(folder.path(), 2).list(),
      ElementsAre(folder.path("step-000000017.safetensors"), folder.path("step-000000015.safetensors")));
  const CheckpointState state = read_checkpoint(folder.path("step-000000015.safetensors"));
  EXPECT_EQ(state.steps, 15);
  EXPECT_EQ(state.epoch, 3);
  EXPECT_EQ(state.options, (std::map<std::string, std::string>{{"lr", "0.02"}}));
}

TEST(Checkpoint, EarlierOnesAreNotOverwrittenByAccident) {
  const TemporaryFolder folder;
  TrainingRun run{.model = "mlp", .steps = 3, .folder = folder.path()};
  run.resume = true;
  train(run);  // there is none: from the beginning
  run.resume = false;
  EXPECT_THAT(message_of<Error>([&] { train(run); }),
              AllOf(HasSubstr(folder.path()), HasSubstr("go on from them with --resume")));
}

TEST(Checkpoint, ADamagedOneIsSetAsideAndTheOneBeforeUsed) {
  const Outcome whole = train({.model = "mlp"});
  for (const char* damage : {"truncated", "flipped", "empty"}) {
    SCOPED_TRACE(damage);
    const TemporaryFolder folder;
    TrainingRun run{.model = "mlp", .folder = folder.path(), .every = 3, .stop_after = 6};
    train(run);
    const CheckpointFolder checkpoints(folder.path(), 3);
    const std::string newest = checkpoints.list().at(0);
    const std::string name = std::filesystem::path(newest).filename();
    std::string bytes = folder.read(name);
    if (damage == std::string("truncated")) bytes.resize(bytes.size() - 1);
    if (damage == std::string("flipped")) bytes[bytes.size() / 2] ^= 4;
    if (damage == std::string("empty")) bytes.clear();
    folder.write(name, bytes);
    run.stop_after = -1;
    run.resume = true;
    testing::internal::CaptureStderr();
    const Outcome resumed = train(run);
    const std::string warning = testing::internal::GetCapturedStderr();
    EXPECT_THAT(warning,
                AllOf(HasSubstr("warning"), HasSubstr(name), HasSubstr("the checkpoint before it is used")));
    EXPECT_TRUE(std::filesystem::exists(newest + ".corrupt"));
    EXPECT_LT(resumed.steps.front(), read_checkpoint(checkpoints.list().at(0)).steps);
    expect_same(whole.report, resumed.report);
  }
}

TEST(Checkpoint, WhatIsSetAsideStaysAndTheLastOneHasNoneBefore) {
  const TemporaryFolder folder;
  for (const char* name : {"step-000000003.safetensors", "step-000000003.safetensors.corrupt"})
    folder.write(name, name);
  CheckpointFolder checkpoints(folder.path(), 1);
  std::string warning;
  EXPECT_FALSE(checkpoints.newest([&](const std::string& text) { warning = text; }));
  EXPECT_THAT(warning, HasSubstr("it is set aside, and there is none before it"));
  EXPECT_EQ(folder.read("step-000000003.safetensors.corrupt"), "step-000000003.safetensors.corrupt");
  EXPECT_EQ(folder.read("step-000000003.safetensors.corrupt2"), "step-000000003.safetensors");
}

TEST(Checkpoint, OneThatCannotBeOpenedIsAnErrorAndStays) {
  const TemporaryFolder folder;
  const std::string path = folder.path("step-000000003.safetensors");
  std::filesystem::create_directory(path);
  CheckpointFolder checkpoints(folder.path(), 1);
  const auto resume = [&] { checkpoints.newest([](const std::string& text) { ADD_FAILURE() << text; }); };
  expect_error(resume, "cannot read '" + path + "': it is not a regular file");
  std::filesystem::remove(path);
  std::filesystem::create_symlink(folder.path("nowhere"), path);
  expect_error(resume, "cannot read '" + path + "': No such file or directory");
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST(Checkpoint, FilesThatKilledRunsLeftAreRemoved) {
  const TemporaryFolder folder;
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ASSERT_GT(ended, 0);
  ::waitpid(ended, nullptr, 0);
  const std::string dead = fmt::format("step-000000003.safetensors.{}.0.tmp", ended);
  const std::string alive = fmt::format("step-000000003.safetensors.{}.0.tmp", ::getpid());
  for (const std::string& name : {dead, alive, std::string("step-x.safetensors"), std::string("notes.tmp")})
    folder.write(name, "x");
  const CheckpointFolder checkpoints(folder.path(), 1);
  EXPECT_FALSE(std::filesystem::exists(folder.path(dead)));
  EXPECT_TRUE(std::filesystem::exists(folder.path(alive)));
  EXPECT_EQ(folder.file_count(), 3);
  EXPECT_TRUE(checkpoints.list().empty());
}

/// A checkpoint of a graph that was never trained.
class CheckpointFile : public testing::Test {
 protected:
  CheckpointFile() : graph_("small"), device_(make_cpu_device({.threads = 1})), host_(*device_) {
    StepOptions step;
    step.batch_size = 2;
    step.optimizer = {.name = "adamw", .ema_decay = 0.5};
    build_training_graph(graph_, small_model("mlp"), step);
    initialize_persistent(graph_, host_, 5);
    state_ = {.model = "small",
              .steps = 12,
              .epoch = 1,
              .seed = UINT64_MAX,
              .loss = 0.1,
              .threads = 3,
              .options = {{"lr", "0.1"}, {"augment", "crop,flip"}}};
    write_checkpoint(path(), graph_, host_, state_);
  }
  std::string path() const { return folder_.path("step-000000012.safetensors"); }

  TemporaryFolder folder_;
  Graph graph_;
  std::unique_ptr<Device> device_;
  DeviceHostStore host_;
  CheckpointState state_;
};

TEST_F(CheckpointFile, RoundTrip) {
  EXPECT_EQ(read_checkpoint(path()), state_);
  DeviceHostStore again(*device_);
  load_checkpoint(path(), graph_, again);
  EXPECT_EQ(parameters_hash(graph_, again), parameters_hash(graph_, host_));
  EXPECT_EQ(SafetensorsFile(path()).metadata().at("format"), "pt");
}

TEST_F(CheckpointFile, NoFlippedBitOrCutGoesUnnoticed) {
  const std::string good = folder_.read("step-000000012.safetensors");
  const std::string other = folder_.path("bad");
  std::size_t noticed = 0, tried = 0;
  for (std::size_t i = 0; i < good.size(); i += 1 + good.size() / 400) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
    folder_.write("bad", bytes);
    ++tried;
    noticed += !message_of<Error>([&] { read_checkpoint(other); }).empty();
  }
  EXPECT_EQ(noticed, tried);
  for (std::size_t size = 0; size < good.size(); size += 1 + good.size() / 50) {
    folder_.write("bad", good.substr(0, size));
    EXPECT_NE(message_of<Error>([&] { read_checkpoint(other); }), "") << size;
  }
}

TEST_F(CheckpointFile, WeightsAreNoCheckpoint) {
  const std::string weights = folder_.path("weights.safetensors");
  save_weights(weights, graph_, host_);
  EXPECT_THAT(message_of<Error>([&] { read_checkpoint(weights); }),
              HasSubstr("is no checkpoint of a training run"));
}

TEST_F(CheckpointFile, AnotherRunIsRefusedWithTheFirstDifferences) {
  EXPECT_EQ(message_of<Error>([&] { require_same_run(path(), state_, state_); }), "");
  CheckpointState other = state_;
  other.steps = 99;
  other.threads = 1;
  EXPECT_EQ(message_of<Error>([&] { require_same_run(path(), state_, other); }), "");
  other.model = "vgg16";
  other.options = {{"lr", "0.2"}, {"clip", "1"}};
  EXPECT_THAT(message_of<Error>([&] { require_same_run(path(), state_, other); }),
              AllOf(HasSubstr(path()), HasSubstr("model is small there, vgg16 here"),
                    HasSubstr("augment is crop,flip there, not set here"),
                    HasSubstr("clip is not set there, 1 here"), HasSubstr("lr is 0.1 there, 0.2 here")));
  for (int i = 0; i < 20; ++i) other.options[fmt::format("option{}", i)] = "1";
  EXPECT_THAT(message_of<Error>([&] { require_same_run(path(), state_, other); }),
              HasSubstr("; and 14 more"));
}

TEST_F(CheckpointFile, AnotherModelIsRefusedAndChangesNothing) {
  Graph other("other");
  StepOptions step;
  step.batch_size = 2;
  build_training_graph(other, find_model("mlp", {.image_size = 9, .hidden = 16, .layers = 2}), step);
  DeviceHostStore store(*device_);
  EXPECT_THAT(message_of<Error>([&] { load_checkpoint(path(), other, store); }),
              AllOf(HasSubstr("the checkpoint does not fit 'other'"), HasSubstr("'fc1.weight' has shape"),
                    HasSubstr("'optimizer/momentum/fc1.weight' is missing"), HasSubstr("more")));
  EXPECT_EQ(store.bytes(), 0);
}

TEST_F(CheckpointFile, ExportHasTheModelsTensorsAndTheirAveragesIfAsked) {
  const auto fill = host_.find("optimizer/ema/fc1.weight");
  std::fill(fill.begin(), fill.end(), std::byte{0x3f});
  write_checkpoint(path(), graph_, host_, state_);
  const std::string out = folder_.path("weights.safetensors");
  std::size_t model_tensors = 0;
  for (const Buffer& buffer : graph_.buffers()) model_tensors += is_model_buffer(buffer);
  EXPECT_EQ(export_checkpoint(path(), out, false), static_cast<int>(model_tensors));
  const auto expect_loaded = [&](const std::string& from) {
    DeviceHostStore loaded(*device_);
    load_weights(out, graph_, loaded);
    EXPECT_EQ(bits(loaded, "fc1.weight"), bits(host_, from));
    EXPECT_TRUE(loaded.find("optimizer/ema/fc1.weight").empty());
  };
  expect_loaded("fc1.weight");
  export_checkpoint(path(), out, true);
  expect_loaded("optimizer/ema/fc1.weight");

  Graph plain("plain");
  StepOptions step;
  step.batch_size = 2;
  build_training_graph(plain, small_model("mlp"), step);
  initialize_persistent(plain, host_, 5);
  write_checkpoint(path(), plain, host_, state_);
  EXPECT_THAT(message_of<Error>([&] { export_checkpoint(path(), out, true); }),
              HasSubstr("no moving averages"));
}

}  // namespace
}  // namespace swapadvisor
