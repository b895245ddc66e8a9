#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/correct_count.h>
#include <swapadvisor/ops/finite_check.h>
#include <swapadvisor/ops/image_to_float.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/ops/to_layout.h>
#include <swapadvisor/train/training_graph.h>

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

/// Two parameters may have the same gradient, or parts of one: an output is a buffer of its own.
void output_gradient(Tensor gradient, const std::string& name) {
  Graph& graph = gradient.graph();
  const TensorInfo& info = graph.tensors()[static_cast<std::size_t>(gradient.id())];
  const Buffer& buffer = graph.buffers()[static_cast<std::size_t>(info.buffer)];
  const bool whole = info.base < 0 && buffer.kind == BufferKind::temporary;
  graph.output(whole ? gradient : copy(gradient, "copy/" + name), name);
}

}  // namespace

bool is_model_buffer(const Buffer& buffer) {
  return is_persistent(buffer.kind) && !buffer.name.starts_with("optimizer/");
}

void minimize(Tensor loss, const OptimizerOptions& options, bool output_gradients) {
  Graph& graph = loss.graph();
  const std::vector<Tensor> parameters = graph.trainable_parameters();
  if (parameters.empty()) fail("graph '{}' has no parameter to train", graph.name());
  const Tensor flag = graph.state(names::finite, TensorSpec::dense(DType::i32, {}), Initializer::constant(1));
  const Tensor finite = finite_check(loss, flag, "finite_check");
  graph.apply_deferred_updates(finite);
  Optimizer optimizer(graph, options);
  // Each update follows its gradient at once, so that few gradients live together.
  gradients(loss, parameters, [&](std::size_t i, Tensor gradient) {
    optimizer.update(parameters[i], gradient, finite);
    if (output_gradients) output_gradient(gradient, "grad." + parameters[i].name());
  });
  graph.output(loss, names::loss);
}

void build_training_graph(Graph& graph, const Model& model, const StepOptions& options) {
  check(options.optimizer);
  const Tensor loss = build_forward(graph, model, options, Mode::train);
  for (const std::string& path : options.frozen) graph.freeze(path);
  minimize(loss, options.optimizer, options.output_gradients);
}

void build_inference_graph(Graph& graph, const Model& model, const StepOptions& options) {
  const Scope scope(graph, {Mode::eval, options.dtype, options.layout});
  graph.output(model.logits(scope, prepare_images(graph, model, options)), names::logits);
}

void build_evaluation_graph(Graph& graph, const Model& model, const StepOptions& options) {
  graph.output(build_forward(graph, model, options, Mode::eval), names::loss);
}

}  // namespace swapadvisor
