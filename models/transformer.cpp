#include <swapadvisor/models/layers.h>
#include <swapadvisor/models/transformer.h>
#include <swapadvisor/ops/batched_matmul.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/ops/embedding.h>
#include <swapadvisor/ops/layer_norm.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/softmax.h>
#include <swapadvisor/ops/transpose.h>

#include <cmath>

namespace swapadvisor {
namespace {

/// [N, T, heads·d] → a view [N, heads, T, d].
Tensor split_heads(Tensor x, std::int64_t heads) {
  const Shape& s = x.shape();
  return transpose(reshape(x, {s[0], s[1], heads, s[2] / heads}), 1, 2);
}

}  // namespace

Tensor dense(const Scope& scope, Tensor x, std::int64_t out_features) {
  const std::int64_t in_features = x.shape()[x.shape().rank() - 1];
  const Tensor matrix =
      weight(scope, "weight", {out_features, in_features}, Initializer::normal(0, transformer_deviation));
  const Tensor bias = weight(scope, "bias", {out_features}, Initializer::zeros());
  return linear(x, matrix, bias, scope.path());
}

Tensor look_up(const Scope& scope, Tensor ids, Tensor table, std::int64_t padding_row,
               std::string_view name) {
  return cast(embedding(ids, table, padding_row, name), scope.dtype(), fmt::format("{}/bf16", name));
}

Tensor layer_norm(const Scope& scope, Tensor x, double epsilon) {
  const std::int64_t features = x.shape()[x.shape().rank() - 1];
  const Tensor weight = scope.parameter("weight", {features}, Initializer::constant(1));
  const Tensor bias = scope.parameter("bias", {features}, Initializer::zeros());
  return layer_norm(x, weight, bias, epsilon, scope.path()).y;
}

Tensor drop(const Scope& scope, Tensor x, double probability) {
  if (!scope.training() || probability == 0) return x;
  return dropout(x, scope.step_number(), probability, scope.path());
}

Tensor attention(const Scope& scope, Tensor query, Tensor key, Tensor value, Tensor key_mask,
                 const AttentionOptions& options) {
  const std::int64_t hidden = query.shape()[2];
  if (options.heads < 1 || hidden % options.heads != 0)
    fail("[attention {}] {} features cannot be split into {} heads", scope.path(), hidden, options.heads);
  const double scale = 1 / std::sqrt(static_cast<double>(hidden / options.heads));
  const Tensor q = split_heads(query, options.heads), k = split_heads(key, options.heads),
               v = split_heads(value, options.heads);
  const Tensor scores = batched_matmul(q, k, {.transpose_b = true}, scope.name("scores"));
  Tensor probabilities =
      softmax(scores, {.scale = scale, .causal = options.causal}, key_mask, scope.name("softmax"));
  probabilities = drop(scope / "dropout", probabilities, options.dropout);
  // In the order [N, T, heads, d], so that the heads lie joined.
  const Tensor context = batched_matmul(probabilities, v, {.order = {0, 2, 1, 3}}, scope.name("context"));
  return reshape(transpose(context, 1, 2), query.shape());
}

}  // namespace swapadvisor
