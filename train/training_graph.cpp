#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/correct_count.h>
#include <swapadvisor/ops/image_to_float.h>
#include <swapadvisor/ops/label_count.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/ops/to_layout.h>
#include <swapadvisor/train/forward.h>
#include <swapadvisor/train/micro_batches.h>

#include <algorithm>
#include <utility>

namespace swapadvisor {
namespace {

bool is_image(const ModelInput& input) {
  return input.dtype == DType::f32 && input.shape.rank() == 3;
}

Tensor add_input(Graph& graph, const ModelInput& input, const StepOptions& options, const std::string& name) {
  if (!is_image(input)) return graph.input(name, input.spec(options.batch_size, options.dtype));
  if (options.mean.empty()) {
    const TensorSpec spec = input.spec(options.batch_size, parameter_type(options.dtype));
    const Tensor x = to_layout(graph.input(name, spec), options.layout, name + "_layout");
    return cast(x, options.dtype, name + "_bf16");
  }
  const Tensor raw = graph.input(name, input.spec(options.batch_size, DType::u8));
  return image_to_float(raw, options.dtype, options.layout, options.mean, options.deviation,
                        name + "_to_float");
}

}  // namespace

ModelTensors add_inputs(Graph& graph, const std::vector<ModelInput>& inputs, const StepOptions& options,
                        const std::string& prefix) {
  ModelTensors tensors;
  for (const ModelInput& input : inputs)
    tensors.emplace(input.name, add_input(graph, input, options, prefix + input.name));
  return tensors;
}

Tensor logits_of(const ModelPrediction& prediction, const std::string& name) {
  return cast(prediction.logits, parameter_type(prediction.logits.dtype()), name);
}

Tensor labels_of(const ModelPrediction& prediction, const ModelTensors& tensors, const std::string& model) {
  if (prediction.target_tensor) return prediction.target_tensor;
  const auto found = tensors.find(prediction.target);
  if (found == tensors.end()) fail("model '{}' has no target '{}'", model, prediction.target);
  const Tensor target = found->second;
  return target.shape().rank() == 1 ? target : target.graph().reshape(target, {target.spec().numel()});
}

bool row_per_sample(const ModelPrediction& prediction, const Model& model) {
  if (prediction.target_tensor) return false;
  const auto target = std::find_if(model.targets.begin(), model.targets.end(),
                                   [&](const ModelInput& t) { return t.name == prediction.target; });
  return target != model.targets.end() && target->shape.rank() == 0;
}

namespace {

/// Its target's name; "NAME.2" and so on for further predictions of one target.
std::string name_of(const std::vector<ModelPrediction>& predictions, std::size_t i) {
  const std::string& target = predictions[i].target;
  const auto before = std::count_if(predictions.begin(), predictions.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const ModelPrediction& p) { return p.target == target; });
  return before == 0 ? target : fmt::format("{}.{}", target, before + 1);
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
    const std::string name = name_of(predictions, i), own = fmt::format("{}.{}", names::loss, name);
    const bool whole = !several && p.weight == 1, last = i + 1 == predictions.size();
    const Tensor logits = logits_of(p, own + "_logits");
    Tensor loss = softmax_cross_entropy(logits, labels, smoothing, whole ? names::loss : own);
    if (several && mode == Mode::eval) {
      const std::string rows = fmt::format("{}.{}", names::rows, name);
      graph.output(loss, own);
      graph.output(label_count(labels, rows), rows);
      forward.parts.push_back({name, own, rows, p.weight});
    }
    if (i == 0) {
      graph.output(correct_count(logits, labels, names::correct), names::correct);
      if (!row_per_sample(p, model)) graph.output(label_count(labels, names::rows), names::rows);
    }
    if (p.weight != 1) loss = scale(loss, p.weight, several ? own + "_weighted" : names::loss);
    forward.loss = forward.loss ? add(forward.loss, loss, last ? names::loss : own + "_sum") : loss;
  }
  return forward;
}

}  // namespace

bool is_model_buffer(const Buffer& buffer) {
  return is_persistent(buffer.kind) && !buffer.name.starts_with(names::optimizer_prefix);
}

void build_training_graph(Graph& graph, const Model& model, const StepOptions& options) {
  check(options.optimizer);
  if (options.micro_batches < 1) fail("a step needs at least 1 micro-batch, got {}", options.micro_batches);
  if (options.micro_batches > 1) return build_micro_batches(graph, model, options);
  const Tensor loss = build_forward(graph, model, options, Mode::train).loss;
  for (const std::string& path : options.frozen) graph.freeze(path);
  minimize(loss, options.optimizer, options.output_gradients);
}

void build_inference_graph(Graph& graph, const Model& model, const StepOptions& options) {
  const Scope scope(graph, {Mode::eval, options.dtype, options.layout});
  const std::vector<ModelPrediction> predictions =
      model.predict(scope, add_inputs(graph, model.inputs, options));
  if (predictions.empty()) fail("model '{}' predicts nothing", model.info.name);
  graph.output(logits_of(predictions.front(), names::logits), names::logits);
}

std::vector<LossPart> build_evaluation_graph(Graph& graph, const Model& model, const StepOptions& options) {
  Forward forward = build_forward(graph, model, options, Mode::eval);
  graph.output(forward.loss, names::loss);
  return std::move(forward.parts);
}

}  // namespace swapadvisor
