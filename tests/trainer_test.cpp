#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/train/trainer.h>
#include <swapadvisor/train/weights.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <temporary_folder.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

namespace swapadvisor {
namespace {

/// A small run: everything a test may want to change, with defaults.
struct Training {
  std::string model = "resnet20";
  std::int64_t image_size = 12, batch_size = 6, steps = 5;
  std::string planner, plan_file;
  std::optional<SizeLimit> limit;
  std::int64_t host_limit = DeviceSpec::unbounded;
  double link = 0, rate = 0.05;
  std::optional<double> dropout;
  int threads = 1;
  bool test_set = true;
  std::function<void(const StepMetrics&)> on_step;
};

struct Outcome {
  TrainReport report;
  std::int64_t arena = 0, limit = 0, needed = 0, host = 0;
  Program program;
  std::vector<std::byte> first_weight;
};

Outcome train(const Training& run) {
  ModelOptions model_options;
  model_options.image_size = run.image_size;
  if (run.model == "resnet20") model_options.width = 4;
  if (run.model == "mlp") {
    model_options.hidden = 32;
    model_options.layers = 6;
  }
  model_options.dropout = run.dropout;
  const Model model = find_model(run.model, model_options);
  DatasetOptions data;
  data.image_shape = {model.info.channels, run.image_size, run.image_size};
  data.classes = static_cast<int>(model.info.classes);
  data.size = 20;
  const auto training = open_dataset("synthetic", "", Split::train, data);
  const auto testing = open_dataset("synthetic", "", Split::test, data);
  TrainerOptions options;
  options.step.batch_size = run.batch_size;
  options.step.mean = training->mean();
  options.step.deviation = training->deviation();
  options.loader.batch_size = run.batch_size;
  options.loader.last_batch = LastBatch::pad;
  options.session.planner = run.planner;
  options.session.plan_file = run.plan_file;
  options.session.memory_limit = run.limit;
  options.session.profile_repeats = 1;
  options.steps = run.steps;
  options.learning_rate = [&](std::int64_t) { return run.rate; };
  options.on_step = run.on_step;
  const auto device = make_cpu_device({.threads = run.threads, .link_bytes_per_second = run.link});
  DeviceHostStore host(*device, run.host_limit);
  Trainer trainer(model, *training, run.test_set ? testing.get() : nullptr, *device, host, cpu_kernels(), options);
  Outcome outcome;
  outcome.report = trainer.run();
  outcome.arena = device->arena_bytes();
  outcome.limit = trainer.session().bytes_limit();
  outcome.needed = trainer.session().bytes_needed();
  outcome.host = host.bytes();
  outcome.program = trainer.session().program();
  return outcome;
}

void expect_same_bits(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.report.parameters_hash, b.report.parameters_hash);
  EXPECT_EQ(std::memcmp(&a.report.final_loss, &b.report.final_loss, sizeof(double)), 0);
  EXPECT_EQ(a.report.test->accuracy, b.report.test->accuracy);
  EXPECT_EQ(a.report.test->loss, b.report.test->loss);
}

TEST(Trainer, NoPlannerAndNoLimitChangesABit) {
  const Outcome free = train(Training{});
  EXPECT_EQ(free.program.planner, "none");
  for (const char* planner : {"lru", "belady"})
    for (double percent : {100.0, 50.0, 30.0}) {
      SCOPED_TRACE(fmt::format("{} at {} %", planner, percent));
      Training run;
      run.planner = planner;
      run.limit = SizeLimit{0, percent};
      const Outcome limited = train(run);
      expect_same_bits(free, limited);
      EXPECT_LE(limited.arena, limited.limit);
      EXPECT_LE(limited.limit, static_cast<std::int64_t>(static_cast<double>(limited.needed) * percent / 100));
    }
}

TEST(Trainer, ASlowLinkChangesNoBit) {
  Training run;
  run.limit = parse_size_limit("40%");
  const Outcome fast = train(run);
  run.link = 200e6;
  expect_same_bits(fast, train(run));
}

TEST(Trainer, RepeatsWithTwoThreads) {
  Training run;
  run.threads = 2;
  const Outcome first = train(run);
  run.limit = parse_size_limit("35%");
  expect_same_bits(first, train(run));
}

TEST(Trainer, RunsAPlanFromAFile) {
  const TemporaryFolder folder;
  Training run;
  run.limit = parse_size_limit("40%");
  const Outcome planned = train(run);
  const std::string path = folder.path("plan.json");
  write_plan(path, planned.program);
  run.plan_file = path;
  const Outcome loaded = train(run);
  expect_same_bits(planned, loaded);
  EXPECT_EQ(loaded.program.instructions.size(), planned.program.instructions.size());
  run.batch_size = 5;
  EXPECT_THROW(train(run), Error);  // another graph
}

TEST(Trainer, DropoutDrawsTheSameUnderALimit) {
  Training run;
  run.model = "mlp";
  const Outcome without = train(run);
  run.dropout = 0.3;
  const Outcome free = train(run);
  EXPECT_NE(free.report.parameters_hash, without.report.parameters_hash);
  run.limit = parse_size_limit("60%");
  expect_same_bits(free, train(run));
}

TEST(Trainer, RefusesALimitBelowTheLargestOpNamingNeedAndLimit) {
  Training run;
  run.limit = SizeLimit{1000};
  try {
    train(run);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("of device memory, limit 1000 B"));
  }
}

TEST(Trainer, RefusesHostMemoryThatIsTooSmall) {
  Training run;
  run.limit = parse_size_limit("40%");
  run.host_limit = 100000;
  EXPECT_THROW(train(run), Error);
}

TEST(Trainer, TheLossFalls) {
  Training run;
  std::vector<double> losses;
  run.on_step = [&](const StepMetrics& m) { losses.push_back(m.loss); };
  run.steps = 30;
  run.limit = parse_size_limit("50%");
  train(run);
  ASSERT_EQ(losses.size(), 30u);
  EXPECT_LT(losses.back(), 0.7 * losses.front());
}

TEST(Trainer, ALossThatIsNotFiniteNamesStepAndOpAndKeepsParameters) {
  // A rate this large makes the second or third step overflow. The run that stops just before it has the parameters
  // that the failing run must have kept.
  Training run;
  run.rate = 1e25;
  run.steps = 50;
  run.test_set = false;
  run.limit = parse_size_limit("40%");
  std::int64_t last = -1;
  run.on_step = [&](const StepMetrics& m) { last = m.step; };
  try {
    train(run);
    FAIL() << "the loss stayed finite";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(fmt::format("step {}: the loss is not finite", last + 1)));
    EXPECT_THAT(error.what(), testing::HasSubstr("[conv2d") );
  }
}

std::int64_t resident_kib() {
  std::ifstream status("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  status >> total >> resident;
  return resident * page_bytes / 1024;
}

TEST(Trainer, IterationAThousandUsesNoMoreMemoryThanIterationThree) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps what was freed, so resident memory says nothing";
#endif
  Training run;
  run.model = "mlp";
  run.steps = 1000;
  run.test_set = false;
  run.limit = parse_size_limit("60%");
  std::int64_t early = 0, late = 0;
  run.on_step = [&](const StepMetrics& m) {
    if (m.step == 3) early = resident_kib();
    if (m.step == 999) late = resident_kib();
  };
  train(run);
  // Metrics and the allocator's slack, not tensors: a leak of one activation a step would be 100 times this.
  EXPECT_LE(late - early, 2048);
}

TEST(Weights, RoundTripAndMismatches) {
  const TemporaryFolder folder;
  const auto device = make_cpu_device({.threads = 1});
  const auto build = [](Graph& graph, std::int64_t width) {
    ModelOptions options;
    options.width = width;
    StepOptions step;
    step.batch_size = 2;
    build_training_graph(graph, find_model("resnet20", options), step);
  };
  Graph graph("a"), other("b");
  build(graph, 4);
  build(other, 5);
  DeviceHostStore host(*device), again(*device);
  initialize_persistent(graph, host, 3);
  const std::string path = folder.path("w.safetensors");
  save_weights(path, graph, host);
  load_weights(path, graph, again);
  initialize_persistent(graph, again, 99);
  EXPECT_EQ(parameters_hash(graph, host), parameters_hash(graph, again));
  DeviceHostStore unused(*device);
  try {
    load_weights(path, other, unused);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'conv1.weight' has shape [4, 3, 3, 3], the model [5, 3, 3, 3]"));
    EXPECT_THAT(error.what(), testing::HasSubstr("more"));
  }
  EXPECT_EQ(unused.bytes(), 0);
}

}  // namespace
}  // namespace swapadvisor
