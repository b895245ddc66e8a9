#include <gtest/gtest.h>
#include <swapadvisor/models/bert.h>
#include <swapadvisor/models/gpt2.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/train/training_graph.h>

#include <cmath>
#include <map>
#include <memory>

#include "expect_error.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

ModelOptions tiny() {
  ModelOptions options;
  options.layers = 2;
  options.hidden = 8;
  options.heads = 2;
  options.seq_len = 5;
  options.vocab = 11;
  return options;
}

StepOptions step_of(std::int64_t batch) {
  StepOptions options;
  options.batch_size = batch;
  options.optimizer.momentum = 0;
  options.output_gradients = true;
  return options;
}

std::unique_ptr<Graph> training_graph(std::string_view name, const ModelOptions& options,
                                      const StepOptions& step = step_of(2)) {
  auto graph = std::make_unique<Graph>();
  build_training_graph(*graph, find_model(name, options), step);
  return graph;
}

const Buffer& buffer_of(const Graph& graph, const std::string& name) {
  const int id = graph.find_buffer(name);
  if (id < 0) fail("there is no buffer '{}'", name);
  return graph.buffers()[static_cast<std::size_t>(id)];
}

/// Inputs of all kinds, each id its place modulo what is allowed; parameters as they start.
HostBuffers start_buffers(const Graph& graph, std::int64_t modulus) {
  HostBuffers buffers = initial_buffers(graph, 3);
  for (const Buffer& b : graph.buffers()) {
    if (b.kind != BufferKind::input) continue;
    if (b.name == "step.learning_rate") {
      buffers[b.name] = to_bytes<double>({0.1});
    } else if (b.name == "step.number") {
      buffers[b.name] = to_bytes<std::int64_t>({0});
    } else {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(b.spec.numel()), 1);
      if (b.name != "attention_mask")
        for (std::size_t i = 0; i < ids.size(); ++i)
          ids[i] = static_cast<std::int32_t>(i) % static_cast<int>(modulus);
      buffers[b.name] = to_bytes(ids);
    }
  }
  return buffers;
}

TEST(TransformerModels, PublishedParameterCounts) {
  // Of Transformers' BertForPreTraining, BertForSequenceClassification and GPT2LMHeadModel.
  const std::map<std::string, std::int64_t> published = {{"bert-base", 110'106'428},
                                                         {"bert-large", 336'226'108},
                                                         {"bert-base-classifier", 109'483'778},
                                                         {"bert-large-classifier", 335'143'938},
                                                         {"gpt2", 124'439'808},
                                                         {"gpt2-medium", 354'823'168},
                                                         {"gpt2-large", 774'030'080},
                                                         {"gpt2-xl", 1'557'611'200}};
  for (const auto& [name, count] : published) {
    Graph graph;
    build_inference_graph(graph, find_model(name), step_of(1));
    EXPECT_EQ(parameter_count(graph), count) << name;
  }
}

TEST(TransformerModels, FirstValuesAreTransformers) {
  const auto bert = training_graph("bert-base", tiny());
  const Initializer words = buffer_of(*bert, "bert.embeddings.word_embeddings.weight").init;
  EXPECT_EQ(words.kind, Initializer::Kind::normal);
  EXPECT_EQ(words.b, 0.02);
  EXPECT_EQ(words.leading_zeros, 8);  // the row of [PAD]
  EXPECT_EQ(buffer_of(*bert, "bert.embeddings.position_embeddings.weight").init.leading_zeros, 0);
  EXPECT_EQ(buffer_of(*bert, "bert.encoder.layer.1.output.dense.weight").init.b, 0.02);
  EXPECT_EQ(buffer_of(*bert, "bert.encoder.layer.1.output.LayerNorm.weight").init.a, 1);
  EXPECT_EQ(buffer_of(*bert, "cls.predictions.bias").init.kind, Initializer::Kind::constant);

  const auto gpt = training_graph("gpt2", tiny());
  EXPECT_EQ(buffer_of(*gpt, "transformer.h.1.attn.c_attn.weight").init.b, 0.02);
  EXPECT_DOUBLE_EQ(buffer_of(*gpt, "transformer.h.1.attn.c_proj.weight").init.b, 0.01);  // 0.02/√(2·2)
  EXPECT_DOUBLE_EQ(buffer_of(*gpt, "transformer.h.0.mlp.c_proj.weight").init.b, 0.01);
  EXPECT_EQ(buffer_of(*gpt, "transformer.h.0.mlp.c_fc.weight").spec.shape, (Shape{8, 32}));
}

TEST(TransformerModels, TiedWeightsAreOneBufferWithOneGradientAndOneUpdate) {
  const std::pair<std::string, std::string> tied[] = {{"bert-base", "cls.predictions.decoder.weight"},
                                                      {"bert-base", "cls.predictions.decoder.bias"},
                                                      {"gpt2", "lm_head.weight"}};
  for (const auto& [model, name] : tied) {
    const auto graph = training_graph(model, tiny());
    const Buffer& buffer = buffer_of(*graph, name);
    EXPECT_NE(buffer.name, name);
    EXPECT_EQ(buffer.aliases, std::vector<std::string>{name});
    int updates = 0;
    for (const Node& node : graph->nodes())
      for (const int output : node.outputs)
        updates += &graph->buffers()[static_cast<std::size_t>(
                       graph->tensors()[static_cast<std::size_t>(output)].buffer)] == &buffer;
    EXPECT_EQ(updates, 1) << name;
  }
}

TEST(TransformerModels, PositionsGrowWithTheSequence) {
  ModelOptions options = tiny();
  options.seq_len = 600;
  EXPECT_EQ(buffer_of(*training_graph("bert-base", options), "bert.embeddings.position_embeddings.weight")
                .spec.shape,
            (Shape{600, 8}));
  EXPECT_EQ(buffer_of(*training_graph("gpt2", options), "transformer.wpe.weight").spec.shape,
            (Shape{1024, 8}));
}

TEST(TransformerModels, BadSizesAreRefused) {
  ModelOptions options = tiny();
  options.heads = 3;
  expect_error([&] { find_model("bert-base", options); },
               "the hidden size of bert-base, 8, is not a multiple of its 3 heads");
  Graph graph;
  const Scope scope(graph, {});
  const Tensor ids = graph.input("ids", TensorSpec::dense(DType::i32, {2, 9}));
  expect_error([&] { gpt2_lm_head_model(scope, ids, {.hidden = 12, .positions = 8}); },
               "[transformer.wpe] 9 tokens are more than the 8 positions");
  expect_error(
      [&] {
        bert_for_pretraining(scope, {ids, ids, ids}, {.hidden = 12, .positions = 8});
      },
      "[bert.embeddings] 9 tokens are more than the 8 positions");
  const Model model = find_model("gpt2", tiny());
  expect_error([&] { model.predict(scope, {{"input_ids", ids}}); }, "gpt2 expects ids [N, 5], got [2, 9]");
}

TEST(TransformerModels, DropoutDrawsInTrainingOnly) {
  for (const char* name : {"bert-base", "bert-base-classifier", "gpt2"}) {
    ModelOptions options = tiny();
    const auto count = [&](const Graph& graph) {
      return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                           [](const Node& node) { return node.op->type() == "dropout"; });
    };
    // The embeddings, and per layer the attention's probabilities and two sublayers; the classifier's input.
    EXPECT_EQ(count(*training_graph(name, options)), 7 + (std::string(name) == "bert-base-classifier"))
        << name;
    Graph inference;
    build_inference_graph(inference, find_model(name, options), step_of(2));
    EXPECT_EQ(count(inference), 0) << name;
    options.dropout = 0;
    EXPECT_EQ(count(*training_graph(name, options)), 0) << name;
  }
}

double loss_after(const Graph& graph, HostBuffers buffers,
                  const std::map<std::string, std::vector<std::byte>>& changed) {
  for (const auto& [name, bytes] : changed) buffers[name] = bytes;
  interpret(graph, cpu_kernels(), buffers);
  return from_bytes<float>(buffers.at("loss"))[0];
}

TEST(TransformerModels, PaddingDoesNotMatter) {
  ModelOptions options = tiny();
  options.dropout = 0;
  const auto graph = training_graph("bert-base-classifier", options);
  HostBuffers buffers = start_buffers(*graph, 2);
  buffers["attention_mask"] = to_bytes<std::int32_t>({1, 1, 1, 0, 0, 1, 1, 1, 1, 0});
  const double loss = loss_after(*graph, buffers, {});
  const auto ids = [](std::int32_t padding) {
    return to_bytes<std::int32_t>({1, 2, 3, padding, padding, 4, 5, 6, 7, padding});
  };
  EXPECT_EQ(loss_after(*graph, buffers, {{"input_ids", ids(0)}}),
            loss_after(*graph, buffers, {{"input_ids", ids(9)}}));
  EXPECT_NE(loss_after(*graph, buffers, {{"input_ids", ids(0)}}), loss);
}

TEST(TransformerModels, Gpt2SeesThePastOnly) {
  Graph graph;
  build_inference_graph(graph, find_model("gpt2", tiny()), step_of(1));
  const auto logits = [&](const std::vector<std::int32_t>& ids) {
    HostBuffers buffers = start_buffers(graph, 11);
    buffers["input_ids"] = to_bytes(ids);
    interpret(graph, cpu_kernels(), buffers);
    return from_bytes<float>(buffers.at("logits"));
  };
  const std::vector<float> a = logits({1, 2, 3, 4, 5}), b = logits({1, 2, 3, 9, 9});
  for (std::size_t position = 0; position < 5; ++position)
    for (std::size_t token = 0; token < 11; ++token) {
      const std::size_t i = 11 * position + token;
      EXPECT_EQ(a[i] == b[i], position < 3) << position;
    }
}

TEST(TransformerModels, IdsOutsideTheVocabularyGiveALossThatIsNotFinite) {
  const auto graph = training_graph("gpt2", tiny());
  const HostBuffers buffers = start_buffers(*graph, 11);
  EXPECT_TRUE(std::isfinite(loss_after(*graph, buffers, {})));
  std::vector<std::int32_t> ids(10, 1);
  ids[3] = 11;
  EXPECT_TRUE(std::isnan(loss_after(*graph, buffers, {{"input_ids", to_bytes(ids)}})));
}

}  // namespace
}  // namespace swapadvisor
