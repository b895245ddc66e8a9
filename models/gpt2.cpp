#include <swapadvisor/models/gpt2.h>
#include <swapadvisor/models/layers.h>
#include <swapadvisor/models/transformer.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/bias_add.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/embedding.h>
#include <swapadvisor/ops/gelu.h>
#include <swapadvisor/ops/matmul.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/slice.h>
#include <swapadvisor/ops/split.h>

#include <cmath>

namespace swapadvisor {
namespace {

constexpr double epsilon = 1e-5;  // of layer norm

/// x [N, T, in] → [N, T, out]. Parameters "weight" [in, out], the other way round than `linear`, and "bias"
/// [out]: Transformers' Conv1D.
Tensor conv1d(const Scope& scope, Tensor x, std::int64_t out, double deviation = transformer_deviation) {
  const Shape s = x.shape();
  const Tensor matrix = weight(scope, "weight", {s[2], out}, Initializer::normal(0, deviation));
  const Tensor bias = weight(scope, "bias", {out}, Initializer::zeros());
  const Tensor y = matmul(reshape(x, {s[0] * s[1], s[2]}), matrix, false, false, scope.path());
  return reshape(bias_add(y, bias, scope.path() + "/bias"), {s[0], s[1], out});
}

/// The sublayer's last layer, which adds to the residual stream: its weight starts smaller, the more
/// sublayers add.
Tensor projection(const Scope& scope, Tensor x, const Gpt2Options& o) {
  const double deviation = transformer_deviation / std::sqrt(2.0 * static_cast<double>(o.layers));
  return drop(scope / "dropout", conv1d(scope, x, o.hidden, deviation), o.dropout);
}

Tensor self_attention(const Scope& scope, Tensor x, const Gpt2Options& o) {
  const std::vector<Tensor> qkv = split(conv1d(scope / "c_attn", x, 3 * o.hidden), 3, 2);
  const AttentionOptions causal{.heads = o.heads, .causal = true, .dropout = o.dropout};
  const Tensor y = attention(scope, qkv[0], qkv[1], qkv[2], Tensor(), causal);
  return projection(scope / "c_proj", y, o);
}

Tensor mlp(const Scope& scope, Tensor x, const Gpt2Options& o) {
  const Tensor y = gelu(conv1d(scope / "c_fc", x, 4 * o.hidden), GeluForm::tanh, scope.name("gelu"));
  return projection(scope / "c_proj", y, o);
}

Tensor block(const Scope& scope, Tensor x, const Gpt2Options& o) {
  x = add(x, self_attention(scope / "attn", layer_norm(scope / "ln_1", x, epsilon), o), scope.name("add_1"));
  return add(x, mlp(scope / "mlp", layer_norm(scope / "ln_2", x, epsilon), o), scope.name("add_2"));
}

}  // namespace

Tensor gpt2_lm_head_model(const Scope& scope, Tensor ids, const Gpt2Options& o) {
  const Scope transformer = scope / "transformer", wte = transformer / "wte", wpe = transformer / "wpe";
  const Initializer init = Initializer::normal(0, transformer_deviation);
  const Tensor words = wte.parameter("weight", {o.vocab, o.hidden}, init);
  const Tensor positions = wpe.parameter("weight", {o.positions, o.hidden}, init);
  (scope / "lm_head").tie("weight", words);
  const std::int64_t length = ids.shape()[1];
  if (length > o.positions)
    fail("[{}] {} tokens are more than the {} positions", wpe.path(), length, o.positions);

  Tensor x = look_up(scope, ids, words, no_padding_row, wte.path());
  x = add(x, cast(slice(positions, 0, 0, length), scope.dtype(), wpe.path() + "/bf16"), wpe.path());
  x = drop(transformer / "drop", x, o.dropout);
  for (int i = 0; i < o.layers; ++i) x = block(transformer / "h" / i, x, o);
  x = layer_norm(transformer / "ln_f", x, epsilon);
  const Tensor head = cast(words, scope.dtype(), scope.name("lm_head.weight/bf16"));
  return matmul(reshape(x, {ids.spec().numel(), o.hidden}), head, false, true, scope.name("lm_head"));
}

}  // namespace swapadvisor
