// Cases of layer norm, softmax, embeddings and shifted labels.
#include <swapadvisor/ops/embedding.h>
#include <swapadvisor/ops/layer_norm.h>
#include <swapadvisor/ops/shift_labels.h>
#include <swapadvisor/ops/softmax.h>

#include "op_table.h"

namespace swapadvisor {
namespace {

using Results = std::vector<Tensor>;

Operand integers(const Shape& shape, Generator values) {
  return {.shape = shape, .values = std::move(values), .dtype = DType::i32};
}

OpCase layer_norm_case(std::string name, const Shape& x, Generator values = normal_values(),
                       double tolerance = 2e-6) {
  const Shape features{x[x.rank() - 1]};
  return {.name = std::move(name),
          .operands = {{.shape = x, .values = std::move(values)},
                       {.shape = features, .values = uniform_values(0.5, 1.5)},
                       {.shape = features}},
          .build = [](const OperandTensors& in) { return Results{layer_norm(in[0], in[1], in[2]).y}; },
          .gradient_tolerance = x.numel() > 5000 ? 0 : 4e-7,
          .f32_tolerance = tolerance};
}

OpCase softmax_case(std::string name, const Shape& scores, const SoftmaxOptions& options,
                    Generator mask = nullptr) {
  OpCase result{
      .name = std::move(name),
      .operands = {{.shape = scores, .values = normal_values(0, 3)}},
      .build =
          [=](const OperandTensors& in) { return Results{softmax(in[0], options, mask ? in[1] : Tensor())}; },
      .gradient_tolerance = scores.numel() > 5000 ? 0 : 2e-7};
  if (mask) result.operands.push_back(integers({scores[0], scores[scores.rank() - 1]}, mask));
  return result;
}

OpCase embedding_case(std::string name, const Shape& ids, std::uint32_t rows, std::int64_t features,
                      std::int64_t padding_row = no_padding_row) {
  const bool large = rows * features > 5000;
  return {.name = std::move(name),
          .operands = {integers(ids, integer_values(rows)), {.shape = {rows, features}}},
          .build = [=](const OperandTensors& in) { return Results{embedding(in[0], in[1], padding_row)}; },
          // Finite differences would see the look-up of the padding row.
          .gradient_tolerance = large || padding_row >= 0 ? 0 : 2e-7};
}

/// A third of the keys masked, the first one never.
Generator key_mask(std::int64_t keys) {
  return [=](const RandomStream& random, std::uint64_t i) {
    return i % static_cast<std::uint64_t>(keys) == 0 || random.uniform(i) > 0.33 ? 1.0 : 0.0;
  };
}

}  // namespace

std::vector<OpCase> transformer_cases() {
  return {
      layer_norm_case("layer_norm", {3, 5, 7}),
      layer_norm_case("layer_norm_row", {37}),
      layer_norm_case("layer_norm_matrix", {33, 33}),
      layer_norm_case("layer_norm_one_row", {1, 65}),
      layer_norm_case("layer_norm_one_feature", {9, 1}),
      layer_norm_case("layer_norm_one", {1}),
      layer_norm_case("layer_norm_image", {2, 3, 5, 11}),
      layer_norm_case("layer_norm_large", {7, 61, 129}),
      layer_norm_case("layer_norm_many_rows", {1201, 16}),
      // The mean is 100 deviations, so y of f32 inputs is only known to about 100 roundings of the mean.
      layer_norm_case("layer_norm_large_mean", {5, 64}, normal_values(100, 1), 2e-5),
      softmax_case("softmax", {5, 7}, {}),
      softmax_case("softmax_vector", {41}, {.scale = -0.5}),
      softmax_case("softmax_one", {1, 1}, {.causal = true}),
      softmax_case("softmax_scaled", {2, 3, 5, 7}, {.scale = 0.3}),
      softmax_case("softmax_causal", {2, 3, 7, 7}, {.scale = 0.5, .causal = true}),
      softmax_case("softmax_causal_more_keys", {2, 5, 9}, {.causal = true}),
      softmax_case("softmax_masked", {3, 2, 5, 37}, {.scale = 0.7}, key_mask(37)),
      softmax_case("softmax_masked_causal", {2, 3, 35, 35}, {.scale = 0.7, .causal = true}, key_mask(35)),
      // The mask has as many bytes as f32 scores, and may share their memory.
      softmax_case("softmax_masked_rows", {4, 66}, {}, key_mask(66)),
      softmax_case("softmax_unseen_row", {2, 3, 5}, {}, constant_values(0)),
      softmax_case("softmax_large", {3, 4, 64, 65}, {.scale = 0.125}, key_mask(65)),
      softmax_case("softmax_large_causal", {3, 4, 65, 65}, {.scale = 0.125, .causal = true}),
      embedding_case("embedding", {3, 5}, 7, 6),
      embedding_case("embedding_one", {}, 1, 1),
      embedding_case("embedding_unused_rows", {4}, 19, 3),
      embedding_case("embedding_padding", {5, 7}, 3, 5, 1),
      embedding_case("embedding_large", {11, 37}, 101, 67),
      embedding_case("embedding_wide", {3, 3}, 5, 2049, 0),
      embedding_case("embedding_few_rows", {20, 33}, 2, 70),
      {.name = "shift_labels",
       .operands = {integers({3, 5}, integer_values(1000))},
       .build = [](const OperandTensors& in) { return Results{shift_labels(in[0])}; }},
      {.name = "shift_labels_one",
       .operands = {integers({2, 1}, integer_values(1000))},
       .build = [](const OperandTensors& in) { return Results{shift_labels(in[0])}; }},
  };
}

}  // namespace swapadvisor
