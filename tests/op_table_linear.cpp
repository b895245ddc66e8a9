// Cases of convolutions, pooling, matrix products and layouts.
#include <swapadvisor/ops/avg_pool2d.h>
#include <swapadvisor/ops/bias_add.h>
#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/global_avg_pool.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/matmul.h>
#include <swapadvisor/ops/max_pool2d.h>
#include <swapadvisor/ops/to_layout.h>

#include "op_table.h"

namespace swapadvisor {
namespace {

using Results = std::vector<Tensor>;

Operand image(const Shape& shape, Generator values = normal_values()) {
  return {.shape = shape, .values = std::move(values), .layout = Operand::Layout::of_case};
}

OpCase conv_case(std::string name, const Shape& x, const Shape& weight, const Conv2dOptions& options = {}) {
  const bool large = x.numel() + weight.numel() > 3000;
  return {.name = std::move(name),
          .operands = {image(x), {.shape = weight}},
          .build = [=](const OperandTensors& in) { return Results{conv2d(in[0], in[1], options)}; },
          .gradient_tolerance = large ? 0 : 2e-7,
          .f32_tolerance = 4e-6,
          .thread_invariant = OpCase::ThreadInvariant::none};
}

OpCase matmul_case(std::string name, std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
  const Shape a = ta ? Shape{k, m} : Shape{m, k}, b = tb ? Shape{n, k} : Shape{k, n};
  return {.name = std::move(name),
          .operands = {{.shape = a}, {.shape = b}},
          .build = [=](const OperandTensors& in) { return Results{matmul(in[0], in[1], ta, tb)}; },
          .gradient_tolerance = a.numel() + b.numel() > 3000 ? 0 : 2e-7,
          .f32_tolerance = 4e-6,
          .thread_invariant = OpCase::ThreadInvariant::none};
}

OpCase pool_case(std::string name, const Shape& x, const Pool2dOptions& options, bool maximum) {
  const auto pool = maximum ? max_pool2d : avg_pool2d;
  return {.name = std::move(name),
          .operands = {image(x, maximum ? distinct_values() : normal_values())},
          .build = [=](const OperandTensors& in) { return Results{pool(in[0], options, {})}; },
          .gradient_tolerance = x.numel() > 5000 ? 0 : 2e-7,
          .thread_invariant = OpCase::ThreadInvariant::portable};
}

}  // namespace

std::vector<OpCase> convolution_cases() {
  return {
      conv_case("conv2d_3x3", {2, 3, 5, 7}, {4, 3, 3, 3}, {.padding = {1, 1}}),
      conv_case("conv2d_1x1", {2, 5, 3, 4}, {7, 5, 1, 1}),
      conv_case("conv2d_1x1_strided", {2, 5, 5, 7}, {3, 5, 1, 1}, {.stride = {2, 2}}),
      conv_case("conv2d_7x7_stem", {1, 3, 17, 19}, {5, 3, 7, 7}, {.stride = {2, 2}, .padding = {3, 3}}),
      conv_case("conv2d_uneven", {2, 2, 7, 9}, {3, 2, 1, 5}, {.stride = {2, 1}, .padding = {0, 2}}),
      conv_case("conv2d_dilated", {1, 3, 9, 8}, {2, 3, 3, 3}, {.padding = {2, 1}, .dilation = {2, 1}}),
      conv_case("conv2d_grouped", {2, 6, 5, 5}, {4, 3, 3, 3}, {.padding = {1, 1}, .groups = 2}),
      conv_case("conv2d_depthwise", {1, 5, 6, 7}, {5, 1, 3, 3}, {.padding = {1, 1}, .groups = 5}),
      conv_case("conv2d_one", {1, 1, 1, 1}, {1, 1, 1, 1}),
      conv_case("conv2d_unread_border", {1, 2, 6, 6}, {2, 2, 3, 3}, {.stride = {2, 2}}),
      conv_case("conv2d_large", {3, 32, 14, 15}, {48, 32, 3, 3}, {.padding = {1, 1}}),
      conv_case("conv2d_large_1x1", {2, 64, 13, 13}, {96, 64, 1, 1}),
      // Shapes for which fast kernels take another path than for the ones above.
      conv_case("conv2d_wide_3x3", {3, 128, 7, 7}, {64, 128, 3, 3}, {.padding = {1, 1}}),
      conv_case("conv2d_wide_3x3_strided", {3, 64, 9, 11}, {96, 64, 3, 3},
                {.stride = {2, 2}, .padding = {1, 1}}),
      conv_case("conv2d_wide_1x1_strided", {3, 96, 9, 9}, {64, 96, 1, 1}, {.stride = {2, 2}}),
      conv_case("conv2d_1024_channels", {5, 48, 11, 13}, {1024, 48, 1, 1}),
      conv_case("conv2d_stem_32", {3, 3, 33, 31}, {32, 3, 7, 7}, {.stride = {2, 2}, .padding = {3, 3}}),
      conv_case("conv2d_padding_beyond_kernel", {2, 3, 4, 5}, {2, 3, 1, 2},
                {.stride = {3, 2}, .padding = {2, 3}}),
      {.name = "conv2d_tied_weight",
       .operands = {image({2, 3, 5, 5}), {.shape = {3, 3, 3, 3}}},
       .build =
           [](const OperandTensors& in) {
             const Conv2dOptions same{.padding = {1, 1}};
             return Results{conv2d(conv2d(conv2d(in[0], in[1], same), in[1], same), in[1], same)};
           },
       .gradient_tolerance = 1e-6,
       .f32_tolerance = 4e-6,
       .thread_invariant = OpCase::ThreadInvariant::none},
  };
}

std::vector<OpCase> pooling_cases() {
  const Pool2dOptions stem{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const Pool2dOptions uneven{.kernel = {2, 3}, .stride = {3, 1}, .padding = {1, 0}, .ceil_mode = true};
  const Pool2dOptions exclude{
      .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .ceil_mode = false, .count_include_pad = false};
  std::vector<OpCase> cases{
      pool_case("max_pool2d", {2, 3, 6, 8}, {}, true),
      pool_case("max_pool2d_stem", {2, 5, 9, 7}, stem, true),
      pool_case("max_pool2d_uneven", {1, 2, 7, 5}, uneven, true),
      pool_case("max_pool2d_large", {3, 20, 17, 19}, stem, true),
      pool_case("avg_pool2d", {2, 3, 6, 8}, {}, false),
      pool_case("avg_pool2d_padded", {2, 5, 9, 7}, stem, false),
      pool_case("avg_pool2d_excluding_padding", {1, 3, 5, 6}, exclude, false),
      pool_case("avg_pool2d_uneven", {1, 2, 7, 5}, uneven, false),
      pool_case("avg_pool2d_large", {3, 20, 17, 19}, stem, false),
  };
  for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{3, 5, 1, 1}, Shape{2, 37, 13, 13}})
    cases.push_back({.name = fmt::format("global_avg_pool_{}", shape.numel()),
                     .operands = {image(shape)},
                     .build = [](const OperandTensors& in) { return Results{global_avg_pool(in[0])}; },
                     .gradient_tolerance = shape.numel() > 5000 ? 0 : 2e-7});
  return cases;
}

std::vector<OpCase> matrix_cases() {
  std::vector<OpCase> cases;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const std::string form = fmt::format("{}{}", ta ? 't' : 'n', tb ? 't' : 'n');
      cases.push_back(matmul_case("matmul_" + form, 5, 7, 3, ta, tb));
      cases.push_back(matmul_case("matmul_large_" + form, 67, 129, 71, ta, tb));
    }
  cases.push_back(matmul_case("matmul_one", 1, 1, 1, false, false));
  cases.push_back(matmul_case("matmul_column", 11, 1, 13, false, true));
  cases.push_back({.name = "bias_add",
                   .operands = {{.shape = {5, 7}}, {.shape = {7}}},
                   .build = [](const OperandTensors& in) { return Results{bias_add(in[0], in[1])}; }});
  cases.push_back({.name = "bias_add_image",
                   .operands = {image({2, 5, 3, 7}), {.shape = {5}}},
                   .build = [](const OperandTensors& in) { return Results{bias_add(in[0], in[1])}; }});
  cases.push_back({.name = "linear",
                   .operands = {{.shape = {5, 7}}, {.shape = {3, 7}}, {.shape = {3}}},
                   .build = [](const OperandTensors& in) { return Results{linear(in[0], in[1], in[2])}; },
                   .thread_invariant = OpCase::ThreadInvariant::none});
  cases.push_back(
      {.name = "to_layout", .operands = {image({2, 3, 5, 7})}, .build = [](const OperandTensors& in) {
         return Results{to_layout(in[0], Layout::channels_last), to_layout(in[0], Layout::row_major)};
       }});
  cases.push_back(
      {.name = "flatten",
       .operands = {image({2, 3, 5, 4}), {.shape = {6, 60}}},
       .build = [](const OperandTensors& in) { return Results{linear(flatten(in[0]), in[1], Tensor())}; },
       .thread_invariant = OpCase::ThreadInvariant::none});
  return cases;
}

}  // namespace swapadvisor
