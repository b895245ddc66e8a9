// Gradient accumulation: one step of several micro-batches.
#include <gtest/gtest.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "interpret.h"
#include "small_training.h"

namespace swapadvisor {
namespace {

using Values = std::vector<double>;

constexpr std::int64_t rows = 4;  ///< of a micro-batch

StepOptions step_options(std::int64_t micro_batches, std::int64_t batch_size = rows) {
  StepOptions options;
  options.batch_size = batch_size;
  options.micro_batches = micro_batches;
  options.dtype = DType::f64;
  options.layout = Layout::row_major;
  options.label_smoothing = 0.1;
  options.optimizer = {.name = "sgd", .momentum = 0};
  options.output_gradients = true;
  return options;
}

Values images(std::int64_t first, std::int64_t count, std::int64_t size) {
  Values values;
  for (std::int64_t i = first * size; i < (first + count) * size; ++i)
    values.push_back(RandomStream{11}.normal(static_cast<std::uint64_t>(i)));
  return values;
}

/// Samples 1, 4 and 5 do not count; with `empty`, 4 to 7 as well.
std::vector<std::int32_t> labels(std::int64_t first, std::int64_t count, bool empty = false) {
  std::vector<std::int32_t> values;
  for (std::int64_t i = first; i < first + count; ++i) {
    const bool counts = i != 1 && i != 4 && i != 5 && !(empty && i >= 4 && i < 8);
    values.push_back(counts ? static_cast<std::int32_t>(i * 7 % 10) : ignored_label);
  }
  return values;
}

void set(HostBuffers& buffers, const Graph& graph, const std::string& name, double value) {
  if (graph.find_buffer(name) >= 0) buffers[name] = to_bytes<double>({value});
}

struct Stepped {
  HostBuffers buffers;
  Values value(const std::string& name) const { return from_bytes<double>(buffers.at(name)); }
};

/// One step on samples `first` and following; parameters and states from `start` where it has them.
Stepped step(const Model& model, const StepOptions& options, std::int64_t first, const HostBuffers& start,
             double rate, bool empty = false) {
  Graph graph(model.info.name);
  build_training_graph(graph, model, options);
  Stepped result{initial_buffers(graph, 3)};
  for (auto& [name, bytes] : result.buffers)
    if (const auto found = start.find(name); found != start.end()) bytes = found->second;
  const std::int64_t size = model.info.channels * model.info.image_size * model.info.image_size;
  for (std::int64_t k = 0; k < options.micro_batches; ++k) {
    const std::string prefix = options.micro_batches == 1 ? "" : fmt::format("micro{}/", k);
    const std::int64_t begin = first + k * options.batch_size;
    result.buffers[prefix + "input"] = to_bytes(images(begin, options.batch_size, size));
    result.buffers[prefix + "target"] = to_bytes(labels(begin, options.batch_size, empty));
  }
  set(result.buffers, graph, names::learning_rate, rate);
  if (graph.find_buffer(names::step_number) >= 0)
    result.buffers[names::step_number] = to_bytes<std::int64_t>({5});
  interpret(graph, cpu_kernels(), result.buffers);
  return result;
}

void expect_near(const Values& a, const Values& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  double most = 0;
  for (double v : b) most = std::max(most, std::abs(v));
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], tolerance * most + 1e-18) << what << "[" << i << "]";
}

Model plain_mlp() {
  return find_model("mlp", {.image_size = 8, .hidden = 16, .layers = 2});
}

TEST(MicroBatches, AreOneBatchHoweverManyLabelsCount) {
  const Model model = plain_mlp();
  for (const bool empty : {false, true}) {
    const Stepped whole = step(model, step_options(1, 3 * rows), 0, {}, 0.5, empty);
    const Stepped parts = step(model, step_options(3), 0, {}, 0.5, empty);
    expect_near(parts.value("loss"), whole.value("loss"), 1e-14, "loss");
    for (const char* name : {"fc1.weight", "fc1.bias", "fc3.weight", "fc3.bias"}) {
      expect_near(parts.value(std::string("grad.") + name), whole.value(std::string("grad.") + name), 1e-13,
                  name);
      expect_near(parts.value(name), whole.value(name), 1e-14, name);
    }
    std::int64_t correct = 0;
    for (int k = 0; k < 3; ++k)
      correct += from_bytes<std::int64_t>(parts.buffers.at(fmt::format("micro{}/correct", k))).at(0);
    EXPECT_EQ(correct, from_bytes<std::int64_t>(whole.buffers.at("correct")).at(0));
  }
}

TEST(MicroBatches, StatisticsFollowEachMicroBatchAndGradientsAreWeighted) {
  const Model model = small_model("resnet20");
  const Stepped parts = step(model, step_options(3), 0, {}, 0.1);
  // One after another, the parameters staying as they are.
  HostBuffers state;
  std::map<std::string, Values> gradients;
  double loss = 0, counted = 0;
  for (std::int64_t k = 0; k < 3; ++k) {
    const Stepped one = step(model, step_options(1), k * rows, state, 0);
    const auto target = labels(k * rows, rows);
    const double count = static_cast<double>(rows - std::count(target.begin(), target.end(), ignored_label));
    for (const char* name : {"grad.conv1.weight", "grad.layer2.0.bn1.bias", "grad.fc.weight"}) {
      const Values g = one.value(name);
      Values& sum = gradients[name];
      sum.resize(g.size());
      for (std::size_t i = 0; i < g.size(); ++i) sum[i] += count * g[i];
    }
    loss += count * one.value("loss").at(0);
    counted += count;
    state = one.buffers;
  }
  EXPECT_NEAR(parts.value("loss").at(0), loss / counted, 1e-13);
  for (auto& [name, sum] : gradients) {
    for (double& v : sum) v /= counted;
    expect_near(parts.value(name), sum, 1e-12, name);
  }
  for (const char* name : {"bn1.running_mean", "layer3.2.bn2.running_var", "bn1.num_batches_tracked"})
    EXPECT_EQ(parts.buffers.at(name), state.at(name)) << name;
  EXPECT_EQ(from_bytes<std::int64_t>(parts.buffers.at("bn1.num_batches_tracked")).at(0), 3);
}

TEST(MicroBatches, OneIsTheGraphWithoutAny) {
  Graph graph("g");
  build_training_graph(graph, small_model("mlp"), step_options(1));
  for (const Node& node : graph.nodes()) EXPECT_EQ(node.name.find("micro"), std::string::npos) << node.name;
}

TEST(MicroBatches, EachDropsItsOwnElementsAndParametersAreShared) {
  Graph graph("g");
  build_training_graph(graph, small_model("mlp"), step_options(2));
  std::size_t parameters = 0;
  for (const Buffer& buffer : graph.buffers()) {
    parameters += buffer.kind == BufferKind::parameter;
    EXPECT_FALSE(is_persistent(buffer.kind) && buffer.name.starts_with("micro")) << buffer.name;
  }
  EXPECT_EQ(parameters, 8u);
  std::set<std::uint32_t> draws;
  for (const Node& node : graph.nodes())
    if (node.op->type() == "dropout") draws.insert(dynamic_cast<const DropoutOp&>(*node.op).draw_id());
  EXPECT_EQ(draws.size(), 6u);
}

/// Forward and backward of one micro-batch come before those of the next; and in the last one updates follow
/// their gradients.
TEST(MicroBatches, TheOrderKeepsFewValuesAlive) {
  Graph graph("g");
  build_training_graph(graph, small_model("resnet20"), step_options(3));
  std::ptrdiff_t first_update = -1, last_gradient = -1, second_forward = -1, first_backward_end = -1;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const std::string& name = graph.nodes()[i].name;
    const auto at = static_cast<std::ptrdiff_t>(i);
    if (name.starts_with("sgd/") && first_update < 0) first_update = at;
    if (name.starts_with("grad") && name.find("/micro2/conv1") != std::string::npos) last_gradient = at;
    if (name == "micro1/conv1") second_forward = at;
    if (name.starts_with("grad") && name.find("/micro0/conv1") != std::string::npos) first_backward_end = at;
  }
  ASSERT_GE(first_update, 0);
  ASSERT_GE(last_gradient, 0);
  ASSERT_GE(first_backward_end, 0);
  EXPECT_LT(first_backward_end, second_forward);
  EXPECT_LT(first_update, last_gradient - 100);
}

TEST(MicroBatches, ALimitChangesNoBitAlsoWithAnUnevenLastBatch) {
  for (const char* name : {"resnet20", "mlp"}) {
    const Model model = small_model(name);
    const auto data = small_data(model, Split::train, 26), test = small_data(model, Split::test, 9);
    std::vector<std::string> hashes;
    for (const char* limit : {"", "40%"}) {
      TrainerOptions options = small_run(*data, 4, 7, 3);  // 12 + 12 + 2 samples an epoch
      options.step.optimizer = {.name = "lamb", .clip_norm = 0.5, .ema_decay = 0.7};
      std::vector<std::int64_t> samples;
      options.on_step = [&](const StepMetrics& m) { samples.push_back(m.samples); };
      if (*limit != '\0') options.session.memory_limit = parse_size_limit(limit);
      Runtime runtime({.device = {.threads = 1}});
      Trainer trainer(model, *data, test.get(), runtime, options);
      const TrainReport report = trainer.run();
      hashes.push_back(
          fmt::format("{} {:a} {:a}", report.parameters_hash, report.final_loss, report.test->loss));
      EXPECT_EQ(samples, (std::vector<std::int64_t>{12, 12, 2, 12, 12, 2, 12}));
      EXPECT_EQ(report.test->samples, 9);
    }
    EXPECT_EQ(hashes[0], hashes[1]) << name;
  }
}

}  // namespace
}  // namespace swapadvisor
