// Registry entries of BERT and GPT-2.
#include <swapadvisor/models/bert.h>
#include <swapadvisor/models/gpt2.h>
#include <swapadvisor/models/model_entry.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/shift_labels.h>

#include <algorithm>
#include <utility>

namespace swapadvisor {
namespace {

/// Sizes that BERT and GPT-2 call the same.
template <class Options>
Options settle(Options defaults, const ModelInfo& info, const ModelOptions& options) {
  Options settled = defaults;
  settled.vocab = info.vocab;
  settled.hidden = options.hidden.value_or(defaults.hidden);
  settled.layers = options.layers.value_or(defaults.layers);
  settled.heads = options.heads.value_or(defaults.heads);
  settled.dropout = options.dropout.value_or(defaults.dropout);
  settled.positions = std::max(defaults.positions, info.seq_len);
  if (settled.hidden % settled.heads != 0)
    fail("the hidden size of {}, {}, is not a multiple of its {} heads", info.name, settled.hidden,
         settled.heads);
  return settled;
}

template <class Options>
ModelInfo text_info(std::string name, std::string summary, Task task, const Options& defaults) {
  ModelInfo info{.name = std::move(name), .summary = std::move(summary)};
  info.options = {"hidden", "layers", "heads", "dropout"};
  info.task = task;
  info.seq_len = defaults.positions;
  info.vocab = defaults.vocab;
  return info;
}

ModelInput tokens(std::string name, const ModelInfo& info) {
  return {.name = std::move(name), .shape = {info.seq_len}, .dtype = DType::i32, .below = info.vocab};
}

std::vector<ModelInput> bert_inputs(const ModelInfo& info) {
  ModelInput mask = tokens("attention_mask", info), segments = tokens("token_type_ids", info);
  mask.below = segments.below = 2;
  mask.otherwise = 1;
  segments.otherwise = 0;
  return {tokens("input_ids", info), mask, segments};
}

void expect_tokens(const ModelInfo& info, const Tensor& ids) {
  if (ids.shape().rank() != 2 || ids.shape()[1] != info.seq_len)
    fail("{} expects ids [N, {}], got {}", info.name, info.seq_len, to_string(ids.shape()));
}

BertInputs read_bert(const ModelInfo& info, const ModelTensors& tensors) {
  const BertInputs in{tensors.at("input_ids"), tensors.at("attention_mask"), tensors.at("token_type_ids")};
  expect_tokens(info, in.ids);
  return in;
}

ModelEntry bert_entry(std::string name, std::string summary, const BertOptions& defaults) {
  auto make = [defaults](const ModelInfo& info, const ModelOptions& options) {
    const BertOptions settled = settle(defaults, info, options);
    Model model{
        .info = info, .inputs = bert_inputs(info), .targets = {tokens("labels", info)}, .predict = {}};
    model.targets.push_back({.name = "next_sentence_label", .shape = {}, .dtype = DType::i32, .below = 2});
    model.predict = [info, settled](const Scope& scope, const ModelTensors& tensors) {
      const BertPretraining heads = bert_for_pretraining(scope, read_bert(info, tensors), settled);
      return std::vector<ModelPrediction>{
          {.logits = heads.prediction_logits, .target = "labels"},
          {.logits = heads.seq_relationship_logits, .target = "next_sentence_label"}};
    };
    return model;
  };
  return {text_info(std::move(name), std::move(summary), Task::masked_language_modelling, defaults), make};
}

ModelEntry bert_classifier_entry(std::string name, std::string summary, const BertOptions& defaults) {
  auto make = [defaults](const ModelInfo& info, const ModelOptions& options) {
    const BertOptions settled = settle(defaults, info, options);
    Model model{.info = info, .inputs = bert_inputs(info), .targets = {}, .predict = {}};
    model.targets.push_back({.name = "labels", .shape = {}, .dtype = DType::i32, .below = info.classes});
    model.predict = [info, settled](const Scope& scope, const ModelTensors& tensors) {
      const BertInputs in = read_bert(info, tensors);
      const Tensor logits = bert_for_sequence_classification(scope, in, info.classes, settled);
      return std::vector<ModelPrediction>{{.logits = logits, .target = "labels"}};
    };
    return model;
  };
  ModelInfo info = text_info(std::move(name), std::move(summary), Task::sequence_classification, defaults);
  info.classes = 2;
  return {std::move(info), make};
}

ModelEntry gpt2_entry(std::string name, std::string summary, const Gpt2Options& defaults) {
  auto make = [defaults](const ModelInfo& info, const ModelOptions& options) {
    const Gpt2Options settled = settle(defaults, info, options);
    Model model{.info = info,
                .inputs = {tokens("input_ids", info)},
                .targets = {tokens("labels", info)},
                .predict = {}};
    model.predict = [info, settled](const Scope& scope, const ModelTensors& tensors) {
      const Tensor ids = tensors.at("input_ids");
      expect_tokens(info, ids);
      ModelPrediction next{.logits = gpt2_lm_head_model(scope, ids, settled), .target = "labels"};
      if (const auto labels = tensors.find("labels"); labels != tensors.end())
        next.target_tensor =
            reshape(shift_labels(labels->second, scope.name("shift_labels")), {ids.spec().numel()});
      return std::vector<ModelPrediction>{next};
    };
    return model;
  };
  return {text_info(std::move(name), std::move(summary), Task::language_modelling, defaults), make};
}

}  // namespace

std::vector<ModelEntry> bert_entries() {
  const BertOptions base, large{.hidden = 1024, .layers = 24, .heads = 16};
  return {bert_entry("bert-base", "BERT-base, masked tokens and next sentences", base),
          bert_entry("bert-large", "BERT-large, masked tokens and next sentences", large),
          bert_classifier_entry("bert-base-classifier", "BERT-base, classes of sequences", base),
          bert_classifier_entry("bert-large-classifier", "BERT-large, classes of sequences", large)};
}

std::vector<ModelEntry> gpt2_entries() {
  return {gpt2_entry("gpt2", "GPT-2, 124 million parameters, next tokens", {}),
          gpt2_entry("gpt2-medium", "GPT-2, 355 million parameters, next tokens",
                     {.hidden = 1024, .layers = 24, .heads = 16}),
          gpt2_entry("gpt2-large", "GPT-2, 774 million parameters, next tokens",
                     {.hidden = 1280, .layers = 36, .heads = 20}),
          gpt2_entry("gpt2-xl", "GPT-2, 1.5 billion parameters, next tokens",
                     {.hidden = 1600, .layers = 48, .heads = 25})};
}

}  // namespace swapadvisor
