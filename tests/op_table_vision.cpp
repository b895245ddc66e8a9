// Cases of what convolutional networks other than ResNets need: padding, joins of branches, drop path,
// adaptive pooling, depthwise convolutions.
#include <swapadvisor/ops/adaptive_avg_pool2d.h>
#include <swapadvisor/ops/avg_pool2d.h>
#include <swapadvisor/ops/concat.h>
#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/drop_path.h>
#include <swapadvisor/ops/max_pool2d.h>
#include <swapadvisor/ops/pad2d.h>
#include <swapadvisor/ops/relu.h>

#include "op_table.h"

namespace swapadvisor {
namespace {

using Results = std::vector<Tensor>;

Operand image(const Shape& shape, Generator values = normal_values()) {
  return {.shape = shape, .values = std::move(values), .layout = Operand::Layout::of_case};
}

OpCase pad_case(std::string name, const Shape& x, const Pad2dOptions& options) {
  return {.name = std::move(name),
          .operands = {image(x)},
          .build = [=](const OperandTensors& in) { return Results{pad2d(in[0], options)}; },
          .gradient_tolerance = x.numel() > 5000 ? 0 : 2e-7};
}

OpCase adaptive_case(std::string name, const Shape& x, std::array<std::int64_t, 2> size) {
  return {.name = std::move(name),
          .operands = {image(x)},
          .build = [=](const OperandTensors& in) { return Results{adaptive_avg_pool2d(in[0], size)}; },
          .gradient_tolerance = x.numel() > 5000 ? 0 : 2e-7};
}

OpCase drop_path_case(std::string name, const Operand& x, double p, std::int64_t rise_steps = 0) {
  const Operand step{.shape = {}, .values = constant_values(5), .dtype = DType::i64, .differentiable = false};
  return {
      .name = std::move(name),
      .operands = {x, step},
      .build =
          [=](const OperandTensors& in) { return Results{drop_path(in[0], in[1], p, "drop", rise_steps)}; },
      .gradient_tolerance = x.shape.numel() > 5000 ? 0 : 2e-7};
}

OpCase depthwise_case(std::string name, const Shape& x, std::array<std::int64_t, 2> kernel,
                      Conv2dOptions options) {
  options.groups = x[1];
  return {.name = std::move(name),
          .operands = {image(x), {.shape = {x[1], 1, kernel[0], kernel[1]}}},
          .build = [=](const OperandTensors& in) { return Results{conv2d(in[0], in[1], options)}; },
          .gradient_tolerance = x.numel() > 3000 ? 0 : 2e-7,
          .f32_tolerance = 4e-6,
          .thread_invariant = OpCase::ThreadInvariant::none};
}

OpCase pool_case(std::string name, const Shape& x, const Pool2dOptions& options, bool maximum) {
  return {.name = std::move(name),
          .operands = {image(x, maximum ? distinct_values() : normal_values())},
          .build =
              [=](const OperandTensors& in) {
                return Results{maximum ? max_pool2d(in[0], options) : avg_pool2d(in[0], options)};
              },
          .thread_invariant = OpCase::ThreadInvariant::portable};
}

/// Branches of one image, two of them joined twice.
OpCase join_case() {
  return {.name = "concat_branches",
          .operands = {image({3, 2, 4, 5}, nonzero_values()), image({3, 5, 4, 5}), image({3, 1, 4, 5})},
          .build = [](const OperandTensors& in) {
            const Tensor active = relu(in[0]);
            return Results{concat({active, in[1], in[2], active}, 1), concat({in[2], in[1]}, 1)};
          }};
}

}  // namespace

std::vector<OpCase> vision_cases() {
  std::vector<OpCase> cases{
      pad_case("pad2d", {2, 3, 5, 7}, {.top = 1, .bottom = 2, .left = 0, .right = 3}),
      pad_case("pad2d_shift", {2, 3, 5, 7}, {.top = -1, .bottom = 1, .left = -1, .right = 1}),
      pad_case("pad2d_crop", {3, 5, 6, 7}, {.top = -2, .bottom = -1, .left = -3, .right = -3}),
      pad_case("pad2d_one", {1, 1, 1, 1}, {.top = 1, .bottom = 1, .left = 2, .right = 0}),
      pad_case("pad2d_large", {3, 20, 17, 19}, {.top = 2, .bottom = 3, .left = 2, .right = 3}),
      adaptive_case("adaptive_avg_pool2d_up", {2, 3, 5, 2}, {7, 7}),
      adaptive_case("adaptive_avg_pool2d_down", {2, 5, 14, 13}, {7, 5}),
      adaptive_case("adaptive_avg_pool2d_one", {2, 3, 5, 7}, {1, 1}),
      adaptive_case("adaptive_avg_pool2d_spread", {3, 2, 1, 1}, {7, 7}),
      adaptive_case("adaptive_avg_pool2d_large", {3, 70, 10, 9}, {7, 7}),
      drop_path_case("drop_path", image({7, 3, 4, 5}), 0.4),
      drop_path_case("drop_path_matrix", {.shape = {9, 11}}, 0.7),
      drop_path_case("drop_path_vector", {.shape = {13}}, 0.5),
      drop_path_case("drop_path_rising", {.shape = {19, 6}}, 0.8, 10),
      drop_path_case("drop_path_large", image({11, 9, 31, 37}), 0.3),
      depthwise_case("depthwise_3x3", {2, 37, 4, 5}, {3, 3}, {.padding = {1, 1}}),
      depthwise_case("depthwise_5x5_strided", {2, 35, 6, 7}, {5, 5}, {.stride = {2, 2}, .padding = {2, 2}}),
      depthwise_case("depthwise_7x7", {1, 33, 9, 8}, {7, 7}, {.padding = {3, 3}}),
      depthwise_case("depthwise_uneven", {2, 3, 7, 19}, {1, 18}, {.stride = {3, 2}, .padding = {1, 9}}),
      depthwise_case("depthwise_no_padding", {2, 34, 7, 6}, {5, 3}, {.stride = {2, 1}}),
      depthwise_case("depthwise_dilated", {2, 5, 9, 9}, {3, 3}, {.padding = {2, 2}, .dilation = {2, 2}}),
      depthwise_case("depthwise_1x1", {2, 5, 3, 4}, {1, 1}, {}),
      depthwise_case("depthwise_large", {2, 70, 23, 21}, {7, 7}, {.padding = {3, 3}}),
      pool_case("max_pool2d_beyond_the_end", {2, 5, 2, 1},
                {.kernel = {3, 3}, .stride = {2, 3}, .ceil_mode = true}, true),
      pool_case("max_pool2d_even", {2, 5, 6, 8}, {.kernel = {3, 3}, .stride = {2, 2}, .ceil_mode = true},
                true),
      pool_case("avg_pool2d_every_second", {2, 5, 7, 6}, {.kernel = {1, 1}, .stride = {2, 2}}, false),
      join_case(),
  };
  return cases;
}

}  // namespace swapadvisor
