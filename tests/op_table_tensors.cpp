// Cases of batched products, broadcasting and reductions.
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/batched_matmul.h>
#include <swapadvisor/ops/broadcast.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/matmul.h>
#include <swapadvisor/ops/mul.h>
#include <swapadvisor/ops/reduce.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/slice.h>
#include <swapadvisor/ops/split.h>
#include <swapadvisor/ops/sub.h>
#include <swapadvisor/ops/transpose.h>

#include "op_table.h"

namespace swapadvisor {
namespace {

using Results = std::vector<Tensor>;

/// In both layouts when it has four dimensions.
Operand operand(const Shape& shape) {
  return {.shape = shape,
          .layout = shape.rank() == 4 ? Operand::Layout::of_case : Operand::Layout::row_major};
}

OpCase product_case(std::string name, const Shape& a, const Shape& b, const BatchedMatmulOptions& options) {
  const bool shared = b.rank() == 2;
  return {
      .name = std::move(name),
      .operands = {{.shape = a}, {.shape = b}},
      .build = [=](const OperandTensors& in) { return Results{copy(batched_matmul(in[0], in[1], options))}; },
      .gradient_tolerance = a.numel() + b.numel() > 3000 ? 0 : 2e-7,
      .f32_tolerance = 1e-5,
      .thread_invariant = shared ? OpCase::ThreadInvariant::none : OpCase::ThreadInvariant::portable};
}

/// Self-attention without its softmax, on heads cut out of [N, T, 3·H·D] where they lie.
OpCase attention_case(std::string name, std::int64_t n, std::int64_t t, std::int64_t h, std::int64_t d) {
  return {.name = std::move(name),
          .operands = {{.shape = {n, t, 3 * h * d}}},
          .build =
              [=](const OperandTensors& in) {
                Results heads = split(in[0], 3);
                for (Tensor& x : heads) x = permute(reshape(x, {n, t, h, d}), {0, 2, 1, 3});
                const Tensor scores = batched_matmul(heads[0], heads[1], {.transpose_b = true, .alpha = 0.5});
                const Tensor context = batched_matmul(scores, heads[2], {.order = {0, 2, 1, 3}});
                return Results{copy(reshape(permute(context, {0, 2, 1, 3}), {n, t, h * d}))};
              },
          .gradient_tolerance = n * t * h * d > 1000 ? 0 : 1e-6,
          .f32_tolerance = 4e-6,
          .thread_invariant = OpCase::ThreadInvariant::portable};
}

OpCase broadcast_case(std::string name, const Shape& a, const Shape& b) {
  const bool large = a.numel() + b.numel() > 3000;
  return {.name = std::move(name),
          .operands = {operand(a), operand(b)},
          .build =
              [](const OperandTensors& in) {
                return Results{add(in[0], in[1]), sub(in[0], in[1]), sub(in[1], in[0]), mul(in[0], in[1])};
              },
          .gradient_tolerance = large ? 0 : 1e-6};
}

OpCase reduce_case(std::string name, const Shape& x, const std::vector<int>& dimensions) {
  return {.name = std::move(name),
          .operands = {operand(x)},
          .build =
              [=](const OperandTensors& in) {
                return Results{sum(in[0], dimensions), mean(in[0], dimensions, true)};
              },
          .gradient_tolerance = x.numel() > 3000 ? 0 : 1e-6};
}

}  // namespace

std::vector<OpCase> batched_cases() {
  std::vector<OpCase> cases;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const std::string form = fmt::format("{}{}", ta ? 't' : 'n', tb ? 't' : 'n');
      const auto add_form = [&](const char* name, const std::vector<std::int64_t>& batches, std::int64_t m,
                                std::int64_t n, std::int64_t k) {
        auto a = batches, b = batches;
        for (std::int64_t x : {ta ? k : m, ta ? m : k}) a.push_back(x);
        for (std::int64_t x : {tb ? n : k, tb ? k : n}) b.push_back(x);
        cases.push_back(product_case(
            fmt::format("{}_{}", name, form), Shape(std::span<const std::int64_t>(a)),
            Shape(std::span<const std::int64_t>(b)), {.transpose_a = ta, .transpose_b = tb, .alpha = -0.75}));
      };
      add_form("batched_matmul", {2, 3}, 5, 7, 4);
      add_form("batched_matmul_large", {3}, 131, 67, 33);
      add_form("batched_matmul_vectors", {5}, 1, 1, 6);
    }
  cases.push_back(product_case("batched_matmul_one", {1, 1, 1}, {1, 1, 1}, {}));
  cases.push_back(
      product_case("batched_matmul_ordered", {2, 3, 5, 4}, {2, 3, 4, 6}, {.order = {0, 2, 1, 3}}));
  cases.push_back(
      product_case("batched_matmul_columns", {2, 5, 4}, {2, 4, 3}, {.alpha = 2, .order = {2, 0, 1}}));
  cases.push_back(product_case("batched_matmul_shared", {2, 3, 5}, {5, 4}, {.alpha = 0.5}));
  cases.push_back(product_case("batched_matmul_shared_tt", {2, 5, 3}, {4, 5},
                               {.transpose_a = true, .transpose_b = true}));
  cases.push_back(attention_case("batched_matmul_heads", 2, 5, 3, 4));
  cases.push_back(attention_case("batched_matmul_head_of_one", 1, 3, 2, 1));
  cases.push_back(attention_case("batched_matmul_heads_large", 3, 65, 4, 16));
  // Neither rows nor columns of the operands are contiguous.
  cases.push_back({.name = "batched_matmul_scattered",
                   .operands = {{.shape = {3, 4, 2}}, {.shape = {5, 4, 2}}},
                   .build =
                       [](const OperandTensors& in) {
                         const Tensor a = permute(in[0], {2, 0, 1}), b = permute(in[1], {2, 0, 1});
                         return Results{batched_matmul(a, b, {.transpose_b = true})};
                       },
                   .f32_tolerance = 4e-6,
                   .thread_invariant = OpCase::ThreadInvariant::portable});
  cases.push_back({.name = "matmul_of_views",
                   .operands = {{.shape = {5, 7}}, {.shape = {3, 9}}},
                   .build =
                       [](const OperandTensors& in) {
                         const Tensor columns = slice(in[1], 1, 2, 5);
                         return Results{matmul(columns, in[0]), matmul(transpose(in[0]), transpose(columns))};
                       },
                   .gradient_tolerance = 1e-6,
                   .f32_tolerance = 4e-6,
                   .thread_invariant = OpCase::ThreadInvariant::none});
  cases.push_back(
      {.name = "linear_sequence",
       .operands = {{.shape = {2, 3, 7}}, {.shape = {4, 7}}, {.shape = {4}}},
       .build =
           [](const OperandTensors& in) {
             return Results{copy(linear(in[0], in[1], in[2])), copy(linear(in[0], in[1], Tensor()))};
           },
       .gradient_tolerance = 1e-6,
       .f32_tolerance = 4e-6,
       .thread_invariant = OpCase::ThreadInvariant::none});
  return cases;
}

std::vector<OpCase> broadcast_cases() {
  return {
      broadcast_case("broadcast_same", {2, 3, 5}, {2, 3, 5}),
      broadcast_case("broadcast_same_image", {2, 3, 5, 4}, {2, 3, 5, 4}),
      broadcast_case("broadcast_row", {4, 3, 7}, {7}),
      broadcast_case("broadcast_column", {3, 5}, {3, 1}),
      broadcast_case("broadcast_scalar", {3, 5}, {}),
      broadcast_case("broadcast_both", {3, 1, 4}, {2, 1}),
      broadcast_case("broadcast_middle", {2, 1, 3}, {2, 5, 3}),
      broadcast_case("broadcast_channels", {2, 3, 4, 5}, {3, 1, 1}),
      broadcast_case("broadcast_gate", {2, 3, 4, 5}, {2, 3, 1, 1}),
      broadcast_case("broadcast_ones", {1, 1}, {1}),
      broadcast_case("broadcast_large", {7, 67, 129}, {67, 1}),
      {.name = "broadcast_views",
       .operands = {{.shape = {5, 3}}, {.shape = {4, 6}}},
       .build =
           [](const OperandTensors& in) {
             const Tensor x = transpose(in[0]), row = slice(in[1], 1, 1, 5), square = slice(in[1], 0, 1, 3);
             return Results{mul(x, slice(row, 0, 2, 1)), add(copy(x), slice(square, 1, 0, 5)),
                            sub(slice(square, 1, 1, 5), x), mul(x, x)};
           },
       .gradient_tolerance = 1e-6,
       .f32_tolerance = 1e-5},
      {.name = "broadcast_to",
       .operands = {{.shape = {3, 1, 5}}},
       .build =
           [](const OperandTensors& in) {
             return Results{broadcast_to(in[0], {2, 3, 4, 5})};
           }},
  };
}

std::vector<OpCase> reduce_cases() {
  return {
      reduce_case("reduce_all", {3, 4, 5}, {}),
      reduce_case("reduce_first", {4, 3, 7}, {0}),
      reduce_case("reduce_middle", {4, 3, 7}, {1}),
      reduce_case("reduce_last", {4, 3, 7}, {-1}),
      reduce_case("reduce_outer_and_inner", {4, 3, 7}, {0, 2}),
      reduce_case("reduce_pixels", {2, 5, 3, 4}, {-1, -2}),
      reduce_case("reduce_to_channels", {2, 5, 3, 4}, {0, 2, 3}),
      reduce_case("reduce_nothing_left", {1, 1}, {0}),
      reduce_case("reduce_long_run", {100'003}, {0}),
      reduce_case("reduce_long_rows", {3, 40'009}, {1}),
      reduce_case("reduce_many_rows", {5'003, 37}, {0}),
      reduce_case("reduce_wide_rows", {67, 1'031}, {0}),
      reduce_case("reduce_images", {5, 19, 23, 11}, {0, 2, 3}),
      {.name = "reduce_view",
       .operands = {{.shape = {5, 6, 4}}},
       .build =
           [](const OperandTensors& in) {
             const Tensor x = permute(slice(in[0], 2, 1, 2), {2, 0, 1});
             return Results{sum(x, {1}), mean(x, {0}), sum(slice(x, 0, 0, 1), {2})};
           },
       .gradient_tolerance = 1e-6},
  };
}

}  // namespace swapadvisor
