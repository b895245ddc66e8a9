#include <swapadvisor/models/bert.h>
#include <swapadvisor/models/transformer.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/embedding.h>
#include <swapadvisor/ops/gelu.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/slice.h>
#include <swapadvisor/ops/tanh.h>

namespace swapadvisor {
namespace {

constexpr double epsilon = 1e-12;      // of layer norm
constexpr std::int64_t pad_token = 0;  // its word embedding starts at zero, and only the decoder trains it

struct Encoded {
  Tensor states;           ///< [N, T, hidden]
  Tensor pooled;           ///< [N, hidden]
  Tensor word_embeddings;  ///< [vocab, hidden]
};

Tensor table(const Scope& scope, std::int64_t rows, const BertOptions& o) {
  return scope.parameter("weight", {rows, o.hidden}, Initializer::normal(0, transformer_deviation));
}

Tensor embeddings(const Scope& scope, const BertInputs& in, const BertOptions& o, Tensor words) {
  const Scope position = scope / "position_embeddings", segment = scope / "token_type_embeddings";
  const Tensor positions = table(position, o.positions, o), segments = table(segment, 2, o);
  const std::int64_t length = in.ids.shape()[1];
  if (length > o.positions)
    fail("[{}] {} tokens are more than the {} positions", scope.path(), length, o.positions);

  Tensor x = look_up(scope, in.ids, words, pad_token, scope.name("word_embeddings"));
  x = add(x, look_up(scope, in.segments, segments, no_padding_row, segment.path()),
          scope.name("add_segments"));
  x = add(x, cast(slice(positions, 0, 0, length), scope.dtype(), position.path() + "/bf16"),
          scope.name("add_positions"));
  return drop(scope / "dropout", layer_norm(scope / "LayerNorm", x, epsilon), o.dropout);
}

/// A sublayer's output, added to what the sublayer read and normalised.
Tensor add_and_norm(const Scope& scope, Tensor y, Tensor x, const BertOptions& o) {
  y = drop(scope / "dropout", dense(scope / "dense", y, o.hidden), o.dropout);
  return layer_norm(scope / "LayerNorm", add(y, x, scope.name("add")), epsilon);
}

Tensor self_attention(const Scope& scope, Tensor x, Tensor mask, const BertOptions& o) {
  const Scope self = scope / "self";
  const Tensor query = dense(self / "query", x, o.hidden), key = dense(self / "key", x, o.hidden),
               value = dense(self / "value", x, o.hidden);
  const Tensor y = attention(self, query, key, value, mask, {.heads = o.heads, .dropout = o.dropout});
  return add_and_norm(scope / "output", y, x, o);
}

Tensor encoder_layer(const Scope& scope, Tensor x, Tensor mask, const BertOptions& o) {
  x = self_attention(scope / "attention", x, mask, o);
  const Scope inner = scope / "intermediate";
  const Tensor y = gelu(dense(inner / "dense", x, 4 * o.hidden), GeluForm::exact, inner.name("gelu"));
  return add_and_norm(scope / "output", y, x, o);
}

/// The state of the first token, [CLS], stands for the sequence.
Tensor pooler(const Scope& scope, Tensor states) {
  const std::int64_t samples = states.shape()[0], hidden = states.shape()[2];
  const Tensor first = reshape(slice(states, 1, 0, 1), {samples, hidden}, scope.name("first"));
  return tanh(dense(scope / "dense", first, hidden), scope.name("tanh"));
}

Encoded encode(const Scope& scope, const BertInputs& in, const BertOptions& o) {
  const Tensor words =
      (scope / "embeddings" / "word_embeddings")
          .parameter("weight", {o.vocab, o.hidden},
                     Initializer::normal(0, transformer_deviation).with_leading_zeros(o.hidden));
  Tensor x = embeddings(scope / "embeddings", in, o, words);
  for (int i = 0; i < o.layers; ++i) x = encoder_layer(scope / "encoder" / "layer" / i, x, in.mask, o);
  return {x, pooler(scope / "pooler", x), words};
}

/// The masked language model's head. Its weight is the table of word embeddings, its bias goes by two names.
Tensor predictions(const Scope& scope, Tensor states, Tensor words, const BertOptions& o) {
  const Tensor bias = scope.parameter("bias", {o.vocab}, Initializer::zeros());
  const Scope transform = scope / "transform", decoder = scope / "decoder";
  decoder.tie("weight", words);
  decoder.tie("bias", bias);
  Tensor x = reshape(states, {-1, o.hidden});
  x = gelu(dense(transform / "dense", x, o.hidden), GeluForm::exact, transform.name("gelu"));
  x = layer_norm(transform / "LayerNorm", x, epsilon);
  return linear(x, cast(words, scope.dtype(), decoder.name("weight/bf16")),
                cast(bias, scope.dtype(), decoder.name("bias/bf16")), decoder.path());
}

}  // namespace

BertPretraining bert_for_pretraining(const Scope& scope, const BertInputs& inputs,
                                     const BertOptions& options) {
  const Encoded encoded = encode(scope / "bert", inputs, options);
  const Scope heads = scope / "cls";
  const Tensor tokens = predictions(heads / "predictions", encoded.states, encoded.word_embeddings, options);
  return {tokens, dense(heads / "seq_relationship", encoded.pooled, 2)};
}

Tensor bert_for_sequence_classification(const Scope& scope, const BertInputs& inputs, std::int64_t classes,
                                        const BertOptions& options) {
  const Tensor pooled = encode(scope / "bert", inputs, options).pooled;
  return dense(scope / "classifier", drop(scope / "dropout", pooled, options.dropout), classes);
}

}  // namespace swapadvisor
