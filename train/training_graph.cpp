#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/correct_count.h>
#include <swapadvisor/ops/finite_check.h>
#include <swapadvisor/ops/image_to_float.h>
#include <swapadvisor/ops/label_count.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/ops/to_layout.h>
#include <swapadvisor/train/training_graph.h>

#include <algorithm>
#include <utility>

namespace swapadvisor {
namespace {

bool is_image(const ModelInput& input) {
  return input.dtype == DType::f32 && input.shape.rank() == 3;
}

Tensor add_input(Graph& graph, const ModelInput& input, const StepOptions& options) {
  if (!is_image(input)) return graph.input(input.name, input.spec(options.batch_size, options.dtype));
  if (options.mean.empty())
    return to_layout(graph.input(input.name, input.spec(options.batch_size, options.dtype)), options.layout,
                     fmt::format("{}_layout", input.name));
  const Tensor raw = graph.input(input.name, input.spec(options.batch_size, DType::u8));
  return image_to_float(raw, options.dtype, options.layout, options.mean, options.deviation,
                        fmt::format("{}_to_float", input.name));
}

ModelTensors add_inputs(Graph& graph, const std::vector<ModelInput>& inputs, const StepOptions& options) {
  ModelTensors tensors;
  for (const ModelInput& input : inputs) tensors.emplace(input.name, add_input(graph, input, options));
  return tensors;
}

/// The labels of a prediction's rows, as a vector.
Tensor labels_of(const ModelPrediction& prediction, const ModelTensors& tensors, const std::string& model) {
  if (prediction.target_tensor) return prediction.target_tensor;
  const auto found = tensors.find(prediction.target);
  if (found == tensors.end()) fail("model '{}' has no target '{}'", model, prediction.target);
  const Tensor target = found->second;
  return target.shape().rank() == 1 ? target : target.graph().reshape(target, {target.spec().numel()});
}

/// Whether the rows that count are the samples that there are.
bool row_per_sample(const ModelPrediction& prediction, const Model& model) {
  if (prediction.target_tensor) return false;
  const auto target = std::find_if(model.targets.begin(), model.targets.end(),
                                   [&](const ModelInput& t) { return t.name == prediction.target; });
  return target != model.targets.end() && target->shape.rank() == 0;
}

struct Forward {
  Tensor loss;
  std::vector<LossPart> parts;
};

Forward build_forward(Graph& graph, const Model& model, const StepOptions& options, Mode mode) {
  ModelTensors tensors = add_inputs(graph, model.inputs, options);
  tensors.merge(add_inputs(graph, model.targets, options));
  const std::vector<ModelPrediction> predictions =
      model.predict(Scope(graph, {mode, options.dtype, options.layout}), tensors);
  if (predictions.empty()) fail("model '{}' predicts nothing", model.info.name);
  const bool several = predictions.size() > 1;
  const double smoothing = mode == Mode::train ? options.label_smoothing : 0;
  Forward forward;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const ModelPrediction& p = predictions[i];
    const Tensor labels = labels_of(p, tensors, model.info.name);
    const std::string own = fmt::format("{}.{}", names::loss, p.target);
    Tensor loss = softmax_cross_entropy(p.logits, labels, smoothing, several ? own : names::loss);
    if (several && mode == Mode::eval) {
      const std::string rows = fmt::format("{}.{}", names::rows, p.target);
      graph.output(loss, own);
      graph.output(label_count(labels, rows), rows);
      forward.parts.push_back({p.target, own, rows, p.weight});
    }
    if (i == 0) {
      graph.output(correct_count(p.logits, labels, names::correct), names::correct);
      if (!row_per_sample(p, model)) graph.output(label_count(labels, names::rows), names::rows);
    }
    if (p.weight != 1) loss = scale(loss, p.weight, own + "_weighted");
    forward.loss = forward.loss ? add(forward.loss, loss, names::loss) : loss;
  }
  return forward;
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
  const Tensor loss = build_forward(graph, model, options, Mode::train).loss;
  for (const std::string& path : options.frozen) graph.freeze(path);
  minimize(loss, options.optimizer, options.output_gradients);
}

void build_inference_graph(Graph& graph, const Model& model, const StepOptions& options) {
  const Scope scope(graph, {Mode::eval, options.dtype, options.layout});
  const std::vector<ModelPrediction> predictions =
      model.predict(scope, add_inputs(graph, model.inputs, options));
  if (predictions.empty()) fail("model '{}' predicts nothing", model.info.name);
  graph.output(predictions.front().logits, names::logits);
}

std::vector<LossPart> build_evaluation_graph(Graph& graph, const Model& model, const StepOptions& options) {
  Forward forward = build_forward(graph, model, options, Mode::eval);
  graph.output(forward.loss, names::loss);
  return std::move(forward.parts);
}

}  // namespace swapadvisor
