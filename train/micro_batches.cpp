#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/correct_count.h>
#include <swapadvisor/ops/label_count.h>
#include <swapadvisor/ops/micro_batch.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/train/forward.h>
#include <swapadvisor/train/micro_batches.h>
#include <swapadvisor/train/minimize.h>
#include <swapadvisor/train/session.h>

#include <cctype>
#include <map>

namespace swapadvisor {
namespace {

constexpr std::string_view micro_prefix = "micro";

/// Appends what computes a value from some targets once more, for the targets of another micro-batch.
class Replica {
 public:
  Replica(Graph& graph, const ModelTensors& from, const ModelTensors& to, std::string name_prefix)
      : graph_(graph), name_prefix_(std::move(name_prefix)) {
    for (const auto& [name, tensor] : from) known_.emplace(tensor.id(), to.at(name));
  }

  Tensor of(int id) {
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    const TensorInfo info = graph_.tensors()[static_cast<std::size_t>(id)];
    const Tensor made = info.base >= 0 ? view(info) : output(info, id);
    known_.emplace(id, made);
    return made;
  }

 private:
  Tensor view(const TensorInfo& info) {
    const Tensor base = of(info.base);
    switch (info.view.kind) {
      case View::Kind::reshape:
        return graph_.reshape(base, info.spec.shape);
      case View::Kind::permute:
        return graph_.permute(base, info.view.order);
      case View::Kind::slice:
        break;
    }
    return graph_.slice(base, info.view.dimension, info.view.start, info.spec.shape[info.view.dimension]);
  }

  Tensor output(const TensorInfo& info, int id) {
    const std::string& name = graph_.buffers()[static_cast<std::size_t>(info.buffer)].name;
    if (info.writer < 0)
      fail("labels are made from '{}', which is no target: micro-batches cannot be weighted", name);
    const Node node = graph_.nodes()[static_cast<std::size_t>(info.writer)];
    std::vector<Tensor> inputs;
    for (int input : node.inputs) inputs.push_back(of(input));
    const std::vector<Tensor> outputs = graph_.apply(node.op, std::move(inputs), name_prefix_ + node.name);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (node.outputs[i] != id) known_.emplace(node.outputs[i], outputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (node.outputs[i] == id) return outputs[i];
    SWAPADVISOR_ASSERT(false, "node '{}' does not write tensor {}", node.name, id);
    return {};
  }

  Graph& graph_;
  std::string name_prefix_;
  std::map<int, Tensor> known_;
};

/// A step being built, one micro-batch after the other.
class MicroBatches {
 public:
  MicroBatches(Graph& graph, const Model& model, const StepOptions& options)
      : graph_(graph), model_(model), options_(options), count_(static_cast<int>(options.micro_batches)) {
    // How much a micro-batch counts depends on the labels of all.
    for (int k = 0; k < count_; ++k)
      targets_.push_back(add_inputs(graph, model.targets, options, micro_name(k, "")));
  }

  void build() {
    std::optional<Minimizer> minimizer;
    Tensor total;
    for (int k = 0; k < count_; ++k) {
      const Tensor loss = forward(k);
      if (k == 0) {
        for (const std::string& path : options_.frozen) graph_.freeze(path);
        minimizer.emplace(graph_, options_.optimizer, options_.output_gradients);
      }
      total = total ? add(total, loss, micro_name(k, "loss_sum")) : loss;
      if (k + 1 < count_)
        minimizer->accumulate(loss);
      else
        minimizer->finish(loss, total);
    }
  }

 private:
  /// The part of the loss that micro-batch k is.
  Tensor forward(int k) {
    ModelTensors tensors = add_inputs(graph_, model_.inputs, options_, micro_name(k, ""));
    tensors.insert(targets_[static_cast<std::size_t>(k)].begin(),
                   targets_[static_cast<std::size_t>(k)].end());
    const Scope root(graph_, {Mode::train, options_.dtype, options_.layout});
    const std::vector<ModelPrediction> predictions = model_.predict(root.micro_batch(k), tensors);
    if (predictions.empty()) fail("model '{}' predicts nothing", model_.info.name);
    if (k == 0) count_labels(predictions, tensors);
    Tensor sum;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      const ModelPrediction& p = predictions[i];
      const Tensor labels = labels_of(p, tensors, model_.info.name);
      const std::string name = micro_name(k, fmt::format("{}{}", names::loss, i));
      const Tensor logits = logits_of(p, name + "_logits");
      Tensor loss = softmax_cross_entropy(logits, labels, options_.label_smoothing, name);
      loss = scale_by(loss, count_share(counts_[i], k, name + "_share"), name + "_part");
      if (p.weight != 1) loss = scale(loss, p.weight, name + "_weighted");
      sum = sum ? add(sum, loss, name + "_sum") : loss;
      if (i == 0) report(k, p, logits, labels);
    }
    return sum;
  }

  /// Metrics of the first prediction.
  void report(int k, const ModelPrediction& prediction, Tensor logits, Tensor labels) {
    const std::string correct = micro_name(k, names::correct), rows = micro_name(k, names::rows);
    graph_.output(correct_count(logits, labels, correct), correct);
    if (!row_per_sample(prediction, model_)) graph_.output(label_count(labels, rows), rows);
  }

  /// Per prediction and micro-batch, from those of the first one.
  void count_labels(const std::vector<ModelPrediction>& predictions, const ModelTensors& first) {
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      const Tensor labels = labels_of(predictions[i], first, model_.info.name);
      std::vector<Tensor>& counts = counts_.emplace_back();
      for (int k = 0; k < count_; ++k) {
        Replica replica(graph_, targets_[0], targets_[static_cast<std::size_t>(k)],
                        micro_name(k, fmt::format("labels{}/", i)));
        counts.push_back(label_count(k == 0 ? labels : replica.of(labels.id()),
                                     micro_name(k, fmt::format("label_count{}", i))));
      }
    }
  }

  Graph& graph_;
  const Model& model_;
  const StepOptions& options_;
  int count_;
  std::vector<ModelTensors> targets_;
  std::vector<std::vector<Tensor>> counts_;
};

}  // namespace

std::string micro_name(int number, std::string_view name) {
  return fmt::format("{}{}/{}", micro_prefix, number, name);
}

std::string_view without_micro(std::string_view name) {
  if (!name.starts_with(micro_prefix)) return name;
  const std::size_t slash = name.find('/'), digits = micro_prefix.size();
  if (slash == std::string_view::npos || slash == digits) return name;
  for (std::size_t i = digits; i < slash; ++i)
    if (std::isdigit(static_cast<unsigned char>(name[i])) == 0) return name;
  return name.substr(slash + 1);
}

void build_micro_batches(Graph& graph, const Model& model, const StepOptions& options) {
  MicroBatches(graph, model, options).build();
}

std::optional<std::int64_t> sum_of_outputs(const IterationResult& result, const Graph& graph,
                                           const std::string& name) {
  if (graph.find_buffer(name) >= 0) return scalar_output<std::int64_t>(result, graph, name);
  std::optional<std::int64_t> sum;
  for (int k = 0; graph.find_buffer(micro_name(k, name)) >= 0; ++k)
    sum = sum.value_or(0) + scalar_output<std::int64_t>(result, graph, micro_name(k, name));
  return sum;
}

}  // namespace swapadvisor
