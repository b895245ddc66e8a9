#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/correct_count.h>
#include <swapadvisor/ops/finite_check.h>
#include <swapadvisor/ops/image_to_float.h>
#include <swapadvisor/ops/sgd.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/ops/to_layout.h>
#include <swapadvisor/train/training_graph.h>

#include <cmath>

namespace swapadvisor {
namespace {


Tensor prepare_images(Graph& graph, const Model& model, const StepOptions& options) {
  if (options.mean.empty())
    return to_layout(graph.input(names::input, model.input_spec(options.batch_size, options.dtype)), options.layout,
                     "input_layout");
  const Tensor raw = graph.input(names::input, model.input_spec(options.batch_size, DType::u8));
  return image_to_float(raw, options.dtype, options.layout, options.mean, options.deviation, "input_to_float");
}

Tensor build_forward(Graph& graph, const Model& model, const StepOptions& options, Mode mode) {
  const Tensor images = prepare_images(graph, model, options);
  const Tensor target = graph.input(names::target, TensorSpec::dense(DType::i32, {options.batch_size}));
  const Scope scope(graph, {mode, options.dtype, options.layout});
  const Tensor logits = model.logits(scope, images);
  const double smoothing = mode == Mode::train ? options.label_smoothing : 0;
  const Tensor loss = softmax_cross_entropy(logits, target, smoothing, "loss");
  graph.output(correct_count(logits, target, names::correct), names::correct);
  return loss;
}

/// The update of one parameter, and its momentum.
void update(Tensor parameter, Tensor gradient, Tensor rate, Tensor finite, const OptimizerOptions& options) {
  const std::string& name = parameter.name();
  Tensor momentum;
  if (options.momentum != 0)
    momentum =
        parameter.graph().state(names::momentum_prefix + name, parameter.spec(), Initializer::zeros());
  sgd_update(parameter, gradient, momentum, rate, finite,
             {options.momentum, 0, options.weight_decay, options.nesterov}, "sgd/" + name);
}

}  // namespace

bool is_model_buffer(const Buffer& buffer) {
  return is_persistent(buffer.kind) && !buffer.name.starts_with("optimizer/");
}

void check(const OptimizerOptions& options) {
  if (options.name != "sgd") fail("unknown optimizer '{}': expected sgd", options.name);
  if (!(options.momentum >= 0 && options.momentum < 1)) fail("momentum {} is not in [0, 1)", options.momentum);
  if (!(options.weight_decay >= 0 && std::isfinite(options.weight_decay)))
    fail("weight decay {} is negative or not finite", options.weight_decay);
  if (options.nesterov && options.momentum == 0) fail("Nesterov momentum needs a momentum above 0");
}

void build_training_graph(Graph& graph, const Model& model, const StepOptions& options) {
  check(options.optimizer);
  const Tensor loss = build_forward(graph, model, options, Mode::train);
  const Tensor flag = graph.state(names::finite, TensorSpec::dense(DType::i32, {}), Initializer::constant(1));
  const Tensor finite = finite_check(loss, flag, "finite_check");
  graph.apply_deferred_updates(finite);
  const Tensor rate = graph.input(names::learning_rate, TensorSpec::dense(DType::f64, {}));
  const std::vector<Tensor> parameters = graph.parameters();
  // Each update follows its gradient at once, so that few gradients live together.
  gradients(loss, parameters, [&](std::size_t i, Tensor gradient) {
    update(parameters[i], gradient, rate, finite, options.optimizer);
    if (options.output_gradients) graph.output(gradient, "grad." + parameters[i].name());
  });
  graph.output(loss, names::loss);
}

void build_evaluation_graph(Graph& graph, const Model& model, const StepOptions& options) {
  graph.output(build_forward(graph, model, options, Mode::eval), names::loss);
}

}  // namespace swapadvisor
