// A model of your own and a training loop of your own: on which of three spiral arms does a point lie?
#include <swapadvisor/models/layers.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/train/session.h>
#include <swapadvisor/train/training_graph.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace swapadvisor;
constexpr std::int64_t batch = 256, width = 64, arms = 3;

// A model is a function from tensors to tensors. Its scope names parameters, such as "blocks.0.fc1.weight".
Tensor residual_block(const Scope& scope, Tensor x) {
  const Tensor hidden = relu(linear(scope / "fc1", x, width));
  return add(x, linear(scope / "fc2", hidden, width));
}

Tensor spiral_net(const Scope& scope, Tensor points) {
  Tensor x = relu(linear(scope / "in", points, width));
  for (int i = 0; i < 4; ++i) x = residual_block(scope / "blocks" / i, x);
  return linear(scope / "out", x, arms);
}

struct Batch {
  std::vector<float> points;       // [batch, 2]
  std::vector<std::int32_t> arms;  // [batch]
};
Batch sample(std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(0.05F, 1);
  Batch samples;
  for (std::int64_t i = 0; i < batch; ++i) {
    const auto arm = static_cast<std::int32_t>(random() % arms);
    const float r = uniform(random), angle = 5 * r + 2.1F * static_cast<float>(arm) + 0.2F * uniform(random);
    samples.points.insert(samples.points.end(), {r * std::cos(angle), r * std::sin(angle)});
    samples.arms.push_back(arm);
  }
  return samples;
}

int main() try {
  // One graph is one training step: forward pass, backward pass and optimizer. Another one infers.
  const OptimizerOptions optimizer{.name = "adam"};
  Graph training("spirals"), inference("spirals-inference");
  const Tensor points = training.input("points", TensorSpec::dense(DType::f32, {batch, 2}));
  const Tensor target = training.input("target", TensorSpec::dense(DType::i32, {batch}));
  minimize(softmax_cross_entropy(spiral_net({training, {Mode::train}}, points), target), optimizer);
  inference.output(spiral_net({inference, {Mode::eval}}, inference.input("points", points.spec())), "logits");

  // Sessions plan and run graphs; those on one runtime share the parameters. This limit forces swapping.
  Runtime runtime({.device = {.threads = 1}});  // one thread: the model is tiny
  Session trainer(training, runtime, {.memory_limit = parse_size_limit("50%")});
  fmt::print("planner {}, limit {}\n", trainer.program().planner, format_bytes(trainer.bytes_limit()));
  std::mt19937 random(1);
  for (int step = 0; step < 200; ++step) {
    const Batch samples = sample(random);
    Inputs inputs{{"points", samples.points}, {"target", samples.arms}};
    StepScalars(optimizer, step, 0.003).add_to(inputs, training);
    trainer.step(inputs);
    if (step % 50 == 49) fmt::print("step {}: loss {:.4f}\n", step + 1, trainer.read<float>("loss")[0]);
  }
  trainer.save_weights("spirals.safetensors");
  Session predictor(inference, runtime);
  const Batch samples = sample(random);
  predictor.step({{"points", samples.points}});
  const std::vector<float> logits = predictor.read<float>("logits");  // [batch, arms]
  int correct = 0;
  for (std::int64_t i = 0; i < batch; ++i) {
    const auto row = logits.begin() + i * arms;
    if (std::max_element(row, row + arms) - row == samples.arms[static_cast<std::size_t>(i)]) ++correct;
  }
  fmt::print("accuracy on new points: {:.1f} %\n", 100.0 * correct / batch);
} catch (const Error& error) {
  fmt::print(stderr, "custom_model: {}\n", error.what());
  return 1;
}
