#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/models/layers.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/ops/to_layout.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/train/session.h>
#include <swapadvisor/train/training_graph.h>
#include <temporary_folder.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace swapadvisor {
namespace {

constexpr std::int64_t rows = 8, features = 6, hidden = 10, classes = 3;

Tensor small_net(const Scope& scope, Tensor x) {
  x = relu(linear(scope / "fc1", x, hidden), "hidden");
  x = relu(linear(scope / "fc2", x, hidden));
  return linear(scope / "fc3", x, classes);
}

void build_training(Graph& graph) {
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {rows, features}));
  const Tensor y = graph.input("y", TensorSpec::dense(DType::i32, {rows}));
  minimize(softmax_cross_entropy(small_net(Scope(graph, {Mode::train}), x), y), {.momentum = 0.9});
}

void build_inference(Graph& graph) {
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {rows, features}));
  graph.output(small_net(Scope(graph, {Mode::eval}), x), "logits");
}

std::vector<float> samples(int step) {
  std::vector<float> x(static_cast<std::size_t>(rows * features));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(0.37F * static_cast<float>(i) + static_cast<float>(step));
  return x;
}

std::vector<std::int32_t> labels(int step) {
  std::vector<std::int32_t> y;
  for (std::int32_t i = 0; i < rows; ++i) y.push_back((i + step) % static_cast<std::int32_t>(classes));
  return y;
}

RuntimeOptions one_thread() {
  return {.device = {.threads = 1}};
}

/// The link's speed is given rather than measured: it changes no bit.
SessionOptions quick(std::optional<SizeLimit> limit = {}, std::string planner = {}) {
  return {.planner = std::move(planner),
          .memory_limit = limit,
          .device_spec = find_device("v100-16g"),
          .profile_repeats = 1};
}

void train_step(Session& session, int step) {
  session.step({{"x", samples(step)}, {"y", labels(step)}, {"step.learning_rate", 0.1}});
}

const std::vector<std::string> parameters{"fc1.weight", "fc1.bias",   "fc2.weight",
                                          "fc2.bias",   "fc3.weight", "fc3.bias"};

/// Losses of some steps, and the parameters after them.
std::vector<float> train_and_read(Session& session, int steps) {
  std::vector<float> values;
  for (int step = 0; step < steps; ++step) {
    train_step(session, step);
    values.push_back(session.read<float>("loss")[0]);
  }
  for (const std::string& name : parameters) {
    const std::vector<float> p = session.read<float>(name);
    values.insert(values.end(), p.begin(), p.end());
  }
  return values;
}

TEST(Session, ReadsAnIntermediateValueEqualToTheReference) {
  Graph graph("net");
  build_training(graph);
  graph.output(graph.find("hidden"), "features");
  for (const auto& limit : {std::optional<SizeLimit>(), std::optional(parse_size_limit("70%"))}) {
    Runtime runtime(one_thread());
    Session session(graph, runtime, quick(limit));
    const std::vector<float> x = samples(0), w = session.read<float>("fc1.weight"),
                             b = session.read<float>("fc1.bias");
    train_step(session, 0);
    const std::vector<float> found = session.read<float>("features");
    ASSERT_EQ(found.size(), static_cast<std::size_t>(rows * hidden));
    int positive = 0;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t h = 0; h < hidden; ++h) {
        double sum = b[h];
        for (std::size_t i = 0; i < features; ++i)
          sum += double{x[r * features + i]} * double{w[h * features + i]};
        EXPECT_NEAR(found[r * hidden + h], std::max(sum, 0.0), 1e-6);
        positive += sum > 0;
      }
    EXPECT_GT(positive, 0);
  }
}

TEST(Session, ReadingAnIntermediateValueChangesNoBit) {
  Graph plain("net"), watched("net");
  build_training(plain);
  build_training(watched);
  watched.output(watched.find("hidden"), "features");
  Runtime a(one_thread()), b(one_thread());
  Session first(plain, a, quick()), second(watched, b, quick(parse_size_limit("60%")));
  EXPECT_EQ(train_and_read(first, 3), train_and_read(second, 3));
}

TEST(Session, ReadsChannelsLastValuesInRowMajorOrder) {
  Graph graph("layout");
  const Tensor x = graph.input("x", TensorSpec::dense(DType::f32, {2, 3, 4, 5}));
  const Tensor last = to_layout(x, Layout::channels_last, "last");
  ASSERT_FALSE(last.spec().is_row_major());
  graph.output(last, "last");
  Runtime runtime(one_thread());
  Session session(graph, runtime, quick());
  std::vector<float> values(2 * 3 * 4 * 5);
  std::iota(values.begin(), values.end(), 1.0F);
  session.step({{"x", values}});
  EXPECT_EQ(session.read<float>("last"), values);
}

TEST(Session, EveryPlannerAndAPlanFileGiveTheSameBits) {
  Graph graph("net");
  build_training(graph);
  Runtime runtime(one_thread());
  Session unlimited(graph, runtime, quick());
  const std::vector<float> expected = train_and_read(unlimited, 4);
  for (const PlannerInfo& planner : planner_list()) {
    SCOPED_TRACE(planner.name);
    Runtime other(one_thread());
    SessionOptions options = quick(parse_size_limit(planner.name == "none" ? "100%" : "70%"), planner.name);
    options.search_evaluations = 20;
    Session session(graph, other, options);
    EXPECT_EQ(session.program().planner, planner.name);
    EXPECT_LE(session.program().arena_bytes, session.bytes_limit());
    EXPECT_EQ(train_and_read(session, 4), expected);

    const TemporaryFolder folder;
    write_plan(folder.path("plan.json"), session.program());
    Runtime third(one_thread());
    SessionOptions from_file = quick();
    from_file.plan_file = folder.path("plan.json");
    Session planned(graph, third, from_file);
    EXPECT_EQ(train_and_read(planned, 4), expected);
  }
}

TEST(Session, MakePlanComesBetweenTheSessionAndThePlanner) {
  Graph graph("net");
  build_training(graph);
  Runtime alone(one_thread()), other(one_thread());
  Session reference(graph, alone, quick());
  SessionOptions options = quick(parse_size_limit("70%"), "belady");
  std::string asked;
  std::int64_t limit = 0;
  options.make_plan = [&](const Planner& planner, const PlanRequest& request) {
    asked = planner.name();
    limit = request.device.memory_bytes;
    return make_planner("lru")->plan(request);
  };
  Session session(graph, other, options);
  EXPECT_EQ(asked, "belady");
  EXPECT_EQ(limit, session.bytes_limit());
  EXPECT_EQ(session.program().planner, "lru");
  EXPECT_EQ(train_and_read(session, 3), train_and_read(reference, 3));
}

TEST(Session, SessionsOfARuntimeTakeTurnsAndShareParameters) {
  Graph training("net"), inference("net-inference");
  build_training(training);
  build_inference(inference);
  Runtime alone(one_thread()), shared(one_thread());
  Session reference(training, alone, quick());
  const std::vector<float> expected = train_and_read(reference, 5);

  Session trainer(training, shared, quick(parse_size_limit("70%")));
  Session predictor(inference, shared, quick());
  std::vector<float> found, previous;
  for (int step = 0; step < 5; ++step) {
    train_step(trainer, step);
    found.push_back(trainer.read<float>("loss")[0]);
    predictor.step({{"x", samples(0)}});
    const std::vector<float> logits = predictor.read<float>("logits");
    EXPECT_NE(logits, previous) << "the update did not reach the other session";
    previous = logits;
  }
  for (const std::string& name : parameters) {
    const std::vector<float> p = predictor.read<float>(name);
    found.insert(found.end(), p.begin(), p.end());
  }
  EXPECT_EQ(found, expected);
}

TEST(Session, ASessionMadeLaterFindsWhatAnEarlierOneLearnt) {
  Graph training("net"), inference("net-inference");
  build_training(training);
  build_inference(inference);
  Runtime runtime(one_thread());
  std::vector<float> learnt;
  {
    Session trainer(training, runtime, quick());
    train_step(trainer, 0);
    learnt = trainer.read<float>("fc3.weight");
    train_step(trainer, 1);
  }
  Session predictor(inference, runtime, quick());
  EXPECT_NE(predictor.read<float>("fc3.weight"), learnt);  // the second step is not lost with its session
  Session again(training, runtime, quick());
  train_step(again, 2);
  Runtime other(one_thread());
  Session reference(training, other, quick());
  for (int step = 0; step < 3; ++step) train_step(reference, step);
  for (const std::string& name : parameters)
    EXPECT_EQ(again.read<float>(name), reference.read<float>(name)) << name;
}

TEST(Session, WeightsRoundTrip) {
  const TemporaryFolder folder;
  const std::string file = folder.path("net.safetensors");
  Graph training("net"), inference("net-inference");
  build_training(training);
  build_inference(inference);
  Runtime runtime(one_thread());
  Session trainer(training, runtime, quick());
  train_and_read(trainer, 3);
  trainer.save_weights(file);

  Runtime other(one_thread());
  SessionOptions options = quick();
  options.seed = 77;
  Session predictor(inference, other, options);
  EXPECT_NE(predictor.read<float>("fc1.weight"), trainer.read<float>("fc1.weight"));
  const std::vector<float> fresh_head = predictor.read<float>("fc3.weight");
  predictor.load_weights(file, "fc1");
  EXPECT_EQ(predictor.read<float>("fc1.weight"), trainer.read<float>("fc1.weight"));
  EXPECT_EQ(predictor.read<float>("fc3.weight"), fresh_head);
  predictor.load_weights(file);
  for (const std::string& name : parameters)
    EXPECT_EQ(predictor.read<float>(name), trainer.read<float>(name)) << name;
  expect_error([&] { predictor.load_weights(file, "fc9"); }, "no parameter 'fc9' to load");
}

TEST(Session, WritesParameters) {
  Graph graph("net");
  build_inference(graph);
  Runtime runtime(one_thread());
  Session session(graph, runtime, quick());
  for (const std::string& name : parameters)
    session.write(name, std::vector<float>(session.read<float>(name).size(), 0));
  session.write("fc3.bias", std::vector<float>{1, 2, 3});
  session.step({{"x", samples(0)}});
  const std::vector<float> logits = session.read<float>("logits");
  for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_EQ(logits[i], static_cast<float>(i % 3 + 1));
  expect_error(
      [&] {
        session.write("fc3.bias", std::vector<float>{1, 2});
      },
      "'fc3.bias' is f32[3], got 8 bytes of f32");
  expect_error(
      [&] {
        session.write("fc3.bias", std::vector<double>{1, 2, 3});
      },
      "'fc3.bias' is f32[3], got 24 bytes of f64");
  expect_error([&] { session.write("logits", std::vector<float>{1}); }, "no parameter or state 'logits'");
}

TEST(Session, SaysWhatIsWrongWithInputsAndNames) {
  Graph graph("net");
  build_training(graph);
  Runtime runtime(one_thread());
  Session session(graph, runtime, quick());
  const auto x = samples(0);
  const auto y = labels(0);
  expect_error([&] { session.read<float>("loss"); }, "output 'loss' has no value before the first step");
  expect_error([&] { session.step({{"x", x}, {"y", y}}); }, "input 'step.learning_rate' was not given");
  expect_error(
      [&] {
        session.step({{"x", x}, {"y", y}, {"step.learning_rate", 0.1F}});
      },
      "input 'step.learning_rate' is f64, got f32");
  expect_error(
      [&] {
        session.step({{"x", y}, {"y", y}, {"step.learning_rate", 0.1}});
      },
      "input 'x' is f32, got i32");
  expect_error(
      [&] {
        session.step({{"x", std::span(x).first(3)}, {"y", y}, {"step.learning_rate", 0.1}});
      },
      "input 'x' needs 192 bytes, got 12");
  expect_error([&] { session.step({{"z", x}}); }, "graph 'net' has no input 'z'");
  train_step(session, 0);
  expect_error([&] { session.read<double>("loss"); }, "'loss' is f32, not f64");
  expect_error([&] { session.read<float>("hidden"); }, "'hidden' is not kept");
  expect_error([&] { session.read<float>("nothing"); }, "graph 'net' has nothing named 'nothing'");
  graph.output(graph.find("hidden"), "hidden");  // too late
  expect_error([&] { session.read<float>("hidden"); }, "'hidden' is not kept");
}

TEST(Session, AStepWhileIterationsAreInFlightIsRefused) {
  Graph graph("net");
  build_inference(graph);
  Runtime runtime(one_thread());
  Session session(graph, runtime, quick());
  const auto x = samples(0);
  session.submit({{"x", x}});
  expect_error([&] { session.step({{"x", x}}); }, "1 submitted iterations are not taken yet");
  EXPECT_EQ(session.take().iteration, 0);
  session.step({{"x", x}});
}

TEST(InputValue, HoldsNumbersAndRefersToRanges) {
  InputValue number = 2.5;
  const InputValue copy = number;
  number = std::int64_t{7};
  EXPECT_EQ(copy.dtype(), DType::f64);
  double value = 0;
  ASSERT_EQ(copy.bytes().size(), sizeof value);
  std::memcpy(&value, copy.bytes().data(), sizeof value);
  EXPECT_EQ(value, 2.5);
  EXPECT_EQ(number.dtype(), DType::i64);
  EXPECT_EQ(InputValue(7).dtype(), DType::i32);
  const std::array<std::uint8_t, 3> pixels{1, 2, 3};
  const InputValue range = pixels;
  EXPECT_EQ(static_cast<const void*>(range.bytes().data()), pixels.data());
  EXPECT_EQ(range.dtype(), DType::u8);
  EXPECT_EQ(InputValue(std::as_bytes(std::span(pixels))).dtype(), std::nullopt);
  EXPECT_TRUE(InputValue().bytes().empty());
}

}  // namespace
}  // namespace swapadvisor
