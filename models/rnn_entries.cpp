// The recurrent networks of the registry.
#include <swapadvisor/models/model_entry.h>
#include <swapadvisor/models/rnn.h>

#include <utility>

namespace swapadvisor {
namespace {

RnnOptions settle(const ModelInfo& info, const ModelOptions& options, bool bidirectional) {
  RnnOptions settled{.vocab = info.vocab, .bidirectional = bidirectional};
  settled.hidden = options.hidden.value_or(settled.hidden);
  settled.layers = options.layers.value_or(settled.layers);
  settled.dropout = options.dropout.value_or(settled.dropout);
  if (options.cell) settled.cell = parse_recurrent_cell(*options.cell);
  if (settled.layers < 1) fail("{} needs at least 1 layer, got {}", info.name, settled.layers);
  return settled;
}

Model token_model(const ModelInfo& info, const RnnOptions& options) {
  Model model;
  model.info = info;
  const ModelInput ids{.name = "input", .shape = {info.seq_len}, .dtype = DType::i32, .below = info.vocab};
  model.inputs = {ids};
  model.targets = {ids};
  model.targets[0].name = "target";
  model.predict = [info, options](const Scope& scope, const ModelTensors& tensors) {
    const Tensor input = tensors.at("input");
    if (input.shape().rank() != 2 || input.shape()[1] != info.seq_len)
      fail("{} expects ids [N, {}], got {}", info.name, info.seq_len, to_string(input.shape()));
    return std::vector<ModelPrediction>{{.logits = rnn(scope, input, options), .target = "target"}};
  };
  return model;
}

ModelEntry recurrent_entry(std::string name, std::string summary, Task task, bool bidirectional) {
  ModelInfo info{.name = std::move(name), .summary = std::move(summary)};
  info.options = {"hidden", "layers", "dropout", "cell"};
  info.task = task;
  info.seq_len = 64;
  info.vocab = 256;
  return {std::move(info), [bidirectional](const ModelInfo& settled, const ModelOptions& options) {
            return token_model(settled, settle(settled, options, bidirectional));
          }};
}

}  // namespace

std::vector<ModelEntry> rnn_entries() {
  // In both directions a network reads the next token too, so it learns from hidden ones.
  return {recurrent_entry("rnn", "stacked LSTM or GRU, unrolled", Task::language_modelling, false),
          recurrent_entry("brnn", "bidirectional LSTM or GRU, unrolled", Task::masked_language_modelling, true)};
}

}  // namespace swapadvisor
