// An op and a data set of your own, with the library's training loop.
#include <swapadvisor/models/layers.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/matmul.h>
#include <swapadvisor/train/trainer.h>

#include <cmath>

#include "snake.h"
#include "stripes.h"

using namespace swapadvisor;

/// The largest difference between the gradient rule and central differences, in f64.
double gradient_error(Runtime& runtime) {
  // loss = Σ w·snake(x), with a step in which the learning rate is 0, so that x stays what we write.
  const std::vector<double> x{-2, -0.7, 0.1, 0.9, 3}, w{1, -2, 3, -4, 5};
  Graph graph("gradient-check");
  const Tensor values = graph.parameter("x", TensorSpec::dense(DType::f64, {1, 5}), Initializer::zeros());
  const Tensor weights = graph.input("w", TensorSpec::dense(DType::f64, {5, 1}));
  minimize(matmul(snake(values, 1.5), weights), {.momentum = 0}, /*output_gradients=*/true);
  Session session(graph, runtime);
  const auto loss_at = [&](const std::vector<double>& point) {
    session.write("x", point);
    session.step({{"w", w}, {"step.learning_rate", 0.0}});
    return session.read<double>("loss")[0];
  };
  loss_at(x);
  const std::vector<double> gradient = session.read<double>("grad.x");
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<double> above = x, below = x;
    above[i] += 1e-5;
    below[i] -= 1e-5;
    error = std::max(error, std::abs(gradient[i] - (loss_at(above) - loss_at(below)) / 2e-5));
  }
  return error;
}

/// images [N, 1, 16, 16] → logits [N, 4].
Tensor stripe_net(const Scope& scope, Tensor images) {
  Tensor x = snake(linear(scope / "fc1", flatten(images), 64), 1.5, scope.name("snake1"));
  x = snake(linear(scope / "fc2", x, 64), 1.5, scope.name("snake2"));
  return linear(scope / "fc3", x, 4);
}

int main() try {
  RuntimeOptions machine{.device = {.threads = 1}};  // one thread: the model is tiny
  add_snake_kernels(machine.kernels);
  Runtime runtime(machine);
  fmt::print("gradient error: {:.1e}\n", gradient_error(runtime));

  const Stripes train(Split::train, 2000), test(Split::test, 400);
  const Model model = image_classifier(
      {.name = "stripes", .channels = 1, .image_size = Stripes::side, .classes = 4}, stripe_net);
  TrainerOptions options;
  options.loader.batch_size = options.step.batch_size = 50;
  options.step.mean = train.mean();  // pixels become (pixel/255 − mean) / deviation
  options.step.deviation = train.deviation();
  options.step.optimizer.name = "adam";
  options.session.memory_limit = parse_size_limit("75%");
  options.steps = 200;
  options.on_step = [](const StepMetrics& m) {
    if (m.step % 40 == 39) fmt::print("step {}: loss {:.4f}\n", m.step + 1, m.loss);
  };
  Trainer trainer(model, train, &test, runtime, options);
  const TrainReport report = trainer.run();
  fmt::print("test accuracy: {:.1f} %\n", 100 * report.test->accuracy);
} catch (const Error& error) {
  fmt::print(stderr, "custom_op: {}\n", error.what());
  return 1;
}
