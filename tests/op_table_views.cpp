// Cases of views, the copies that undo them, and concatenation.
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/concat.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/slice.h>
#include <swapadvisor/ops/split.h>
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

OpCase permute_case(std::string name, const Shape& x, const Shape& order) {
  return {.name = std::move(name),
          .operands = {{.shape = x}},
          .build = [=](const OperandTensors& in) { return Results{contiguous(permute(in[0], order))}; },
          .gradient_tolerance = x.numel() > 3000 ? 0 : 2e-7};
}

OpCase slice_case(std::string name, const Shape& x, int dimension, std::int64_t start, std::int64_t length) {
  return {.name = std::move(name), .operands = {operand(x)}, .build = [=](const OperandTensors& in) {
            return Results{copy(slice(in[0], dimension, start, length))};
          }};
}

OpCase concat_case(std::string name, const std::vector<Shape>& shapes, int dimension) {
  OpCase result{.name = std::move(name), .operands = {}, .build = [=](const OperandTensors& in) {
                  return Results{concat(in.tensors, dimension)};
                }};
  std::int64_t elements = 0;
  for (const Shape& shape : shapes) {
    result.operands.push_back(operand(shape));
    elements += shape.numel();
  }
  if (elements > 3000) result.gradient_tolerance = 0;
  return result;
}

std::vector<OpCase> split_cases() {
  return {
      {.name = "split_last",
       .operands = {{.shape = {3, 5, 12}}},
       .build =
           [](const OperandTensors& in) {
             Results pieces = split(in[0], 3);
             for (Tensor& piece : pieces) piece = contiguous(piece);
             return pieces;
           }},
      {.name = "split_channels",
       .operands = {operand({2, 6, 3, 5})},
       .build =
           [](const OperandTensors& in) {
             const Results pieces = split(in[0], {1, 3, 2}, 1);
             return Results{scale(copy(pieces[0]), 2), copy(pieces[2])};
           }},
      {.name = "slices_overlapping",
       .operands = {{.shape = {7, 5}}},
       .build =
           [](const OperandTensors& in) {
             return Results{contiguous(slice(in[0], 0, 0, 4)), contiguous(slice(in[0], 0, 2, 5)),
                            contiguous(slice(in[0], 1, 1, 3)), scale(in[0], -1)};
           }},
      // Heads as attention cuts them: pieces of the last dimension, split in two, brought forward.
      {.name = "split_into_heads",
       .operands = {{.shape = {2, 3, 24}}},
       .build =
           [](const OperandTensors& in) {
             Results pieces = split(in[0], 3);
             for (Tensor& piece : pieces)
               piece = contiguous(permute(reshape(piece, {2, 3, 2, 4}), {0, 2, 1, 3}));
             return pieces;
           }},
  };
}

}  // namespace

std::vector<OpCase> view_cases() {
  std::vector<OpCase> cases{
      permute_case("permute_matrix", {5, 7}, {1, 0}),
      permute_case("permute_matrix_large", {131, 67}, {1, 0}),
      permute_case("permute_heads", {2, 5, 3, 7}, {0, 2, 1, 3}),
      permute_case("permute_heads_large", {3, 33, 4, 65}, {0, 2, 1, 3}),
      permute_case("permute_batches", {3, 5, 7}, {0, 2, 1}),
      permute_case("permute_to_front", {4, 3, 2, 5}, {3, 0, 1, 2}),
      permute_case("permute_reversed", {2, 3, 4, 5}, {3, 2, 1, 0}),
      permute_case("permute_ones", {1, 5, 1, 7}, {3, 2, 1, 0}),
      permute_case("permute_of_five", {2, 3, 2, 5, 3}, {4, 1, 3, 0, 2}),
      slice_case("slice_first", {5, 3, 2, 4}, 0, 1, 3),
      slice_case("slice_channels", {2, 7, 3, 5}, 1, 2, 4),
      slice_case("slice_channel", {2, 7, 3, 5}, 1, 6, 1),
      slice_case("slice_columns", {2, 3, 5, 7}, -1, 0, 2),
      slice_case("slice_one", {4, 3, 5}, 1, 1, 1),
      concat_case("concat_rows", {{2, 3}, {5, 3}, {1, 3}}, 0),
      concat_case("concat_columns", {{4, 1}, {4, 5}}, -1),
      concat_case("concat_middle", {{2, 3, 4}, {2, 1, 4}, {2, 5, 4}}, 1),
      concat_case("concat_channels", {{2, 3, 4, 5}, {2, 1, 4, 5}, {2, 7, 4, 5}}, 1),
      concat_case("concat_pixels", {{2, 3, 1, 1}, {2, 5, 1, 1}}, 1),
      concat_case("concat_large", {{3, 33, 17, 13}, {3, 64, 17, 13}}, 1),
      {.name = "concat_with_itself",
       .operands = {{.shape = {3, 4}}},
       .build =
           [](const OperandTensors& in) {
             return Results{concat({in[0], transpose(reshape(in[0], {4, 3})), in[0]}, 0)};
           }},
      {.name = "concat_integers",
       .operands = {{.shape = {3, 5}, .values = integer_values(256), .dtype = DType::u8},
                    {.shape = {3, 4}, .values = integer_values(256), .dtype = DType::u8}},
       .build =
           [](const OperandTensors& in) {
             concat({in[0], in[1]}, 1);
             return Results{};
           }},
      {.name = "reshape_of_transposed",
       .operands = {{.shape = {4, 6}}},
       .build =
           [](const OperandTensors& in) {
             const Tensor x = reshape(transpose(in[0]), {3, -1});
             return Results{scale(x, 2), add(x, x)};
           }},
      {.name = "slice_of_slice",
       .operands = {{.shape = {5, 6, 4}}},
       .build =
           [](const OperandTensors& in) {
             const Tensor inner = slice(slice(in[0], 1, 1, 4), 2, 1, 2);
             return Results{contiguous(slice(inner, 0, 2, 3)), contiguous(transpose(inner, 0, 1))};
           }},
  };
  for (OpCase& split : split_cases()) cases.push_back(std::move(split));
  return cases;
}

}  // namespace swapadvisor
