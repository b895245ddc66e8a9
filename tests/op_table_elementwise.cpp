// Cases of element-wise ops, batch norm, losses and updates.
#include <swapadvisor/ops/adam.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/correct_count.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/ops/finite_check.h>
#include <swapadvisor/ops/image_to_float.h>
#include <swapadvisor/ops/label_count.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/sgd.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include "op_table.h"

namespace swapadvisor {
namespace {

using Results = std::vector<Tensor>;

Operand image(const Shape& shape, Generator values = normal_values()) {
  return {.shape = shape, .values = std::move(values), .layout = Operand::Layout::of_case};
}

Operand vector(std::int64_t n, Generator values = normal_values()) {
  return {.shape = {n}, .values = std::move(values)};
}

Operand labels(std::int64_t n, Generator values) {
  return {.shape = {n}, .values = std::move(values), .dtype = DType::i32};
}

Operand scalar(DType dtype, double value, BufferKind kind = BufferKind::input) {
  return {
      .shape = {}, .values = constant_values(value), .dtype = dtype, .kind = kind, .differentiable = false};
}

Operand state(const Shape& shape, Generator values = normal_values()) {
  return {.shape = shape, .values = std::move(values), .kind = BufferKind::state};
}

/// Every third row ignored.
Generator some_ignored(std::uint32_t classes) {
  return [=](const RandomStream& random, std::uint64_t i) {
    return i % 3 == 1 ? double{ignored_label} : random.below(i, classes);
  };
}

OpCase batch_norm_case(std::string name, const Operand& x, double tolerance = 2e-6) {
  const std::int64_t channels = x.shape[1];
  return {.name = std::move(name),
          .operands = {x, vector(channels, uniform_values(0.5, 1.5)), vector(channels)},
          .build = [](const OperandTensors& in) { return Results{batch_norm(in[0], in[1], in[2]).y}; },
          .gradient_tolerance = x.shape.numel() > 5000 ? 0 : 2e-7,
          .f32_tolerance = tolerance};
}

OpCase loss_case(std::string name, std::int64_t rows, std::int64_t classes, Generator label_values,
                 double smoothing) {
  return {
      .name = std::move(name),
      .operands = {{.shape = {rows, classes}, .values = normal_values(0, 3)},
                   labels(rows, std::move(label_values))},
      .build =
          [=](const OperandTensors& in) { return Results{softmax_cross_entropy(in[0], in[1], smoothing)}; },
      .gradient_tolerance = rows * classes > 5000 ? 0 : 2e-7};
}

OpCase sgd_case(std::string name, std::int64_t n, const SgdOptions& options) {
  return {.name = std::move(name),
          .operands = {state({n}), vector(n), scalar(DType::f64, 0.05), scalar(DType::i32, 1), state({n})},
          .build = [=](const OperandTensors& in) {
            sgd_update(in[0], in[1], options.momentum == 0 ? Tensor() : in[4], in[2], in[3], options);
            return Results{};
          }};
}

OpCase adam_case(std::string name, std::int64_t n, const AdamOptions& options) {
  return {.name = std::move(name),
          .operands = {state({n}), vector(n), scalar(DType::f64, 0.05), scalar(DType::f64, 1 - options.beta1),
                       scalar(DType::f64, 1 - options.beta2), scalar(DType::i32, 1), state({n}),
                       state({n}, uniform_values(0, 2))},
          .build = [=](const OperandTensors& in) {
            adam_update(in[0], in[1], {in[6], in[7], in[2], in[3], in[4], in[5]}, options);
            return Results{};
          }};
}

OpCase dropout_case(std::string name, const Shape& shape, double p) {
  return {.name = std::move(name),
          .operands = {image(shape), scalar(DType::i64, 5)},
          .build = [=](const OperandTensors& in) { return Results{dropout(in[0], in[1], p, "drop")}; },
          .gradient_tolerance = shape.numel() > 5000 ? 0 : 2e-7};
}

}  // namespace

std::vector<OpCase> elementwise_cases() {
  const auto relu_of = [](const OperandTensors& in) { return Results{relu(in[0])}; };
  const auto sum_of = [](const OperandTensors& in) { return Results{add(in[0], in[1])}; };
  return {
      {.name = "relu", .operands = {image({2, 3, 5, 7}, nonzero_values())}, .build = relu_of},
      {.name = "relu_one", .operands = {image({1, 1, 1, 1}, nonzero_values())}, .build = relu_of},
      {.name = "relu_large", .operands = {vector(100'003)}, .build = relu_of, .gradient_tolerance = 0},
      {.name = "add", .operands = {image({2, 3, 5, 7}), image({2, 3, 5, 7})}, .build = sum_of},
      {.name = "add_large",
       .operands = {vector(50'021), vector(50'021)},
       .build = sum_of,
       .gradient_tolerance = 0},
      {.name = "add_to_itself",
       .operands = {vector(13)},
       .build = [](const OperandTensors& in) { return Results{add(in[0], in[0])}; }},
      {.name = "accumulate",
       .operands = {state({11}), vector(11)},
       .build = [](const OperandTensors& in) { return Results{accumulate(in[0], in[1])}; }},
      {.name = "gradient_sums",
       .operands = {image({2, 3, 4, 5}, nonzero_values())},
       .build =
           [](const OperandTensors& in) {
             return Results{add(add(relu(in[0]), scale(in[0], 0.5)), add(in[0], in[0])), scale(in[0], -2)};
           }},
      {.name = "scale",
       .operands = {image({2, 3, 5, 7})},
       .build = [](const OperandTensors& in) { return Results{scale(in[0], -1.75)}; }},
      {.name = "cast_there_and_back",
       .operands = {image({2, 3, 5, 7})},
       .build =
           [](const OperandTensors& in) {
             const DType other = in.dtype == DType::f32 ? DType::f64 : DType::f32;
             return Results{cast(cast(in[0], other), in.dtype)};
           },
       .gradient_tolerance = 1e-5,
       .step = 0.125},
      {.name = "cast_integers",
       .operands = {{.shape = {17}, .values = integer_values(256), .dtype = DType::u8},
                    {.shape = {17}, .values = integer_values(1 << 20), .dtype = DType::i32},
                    {.shape = {17}, .values = integer_values(1 << 20), .dtype = DType::i64}},
       .build =
           [](const OperandTensors& in) {
             return Results{cast(in[0], in.dtype), cast(in[1], in.dtype), cast(in[2], in.dtype)};
           },
       .f32_tolerance = 1e-6},
      {.name = "image_to_float",
       .operands = {{.shape = {3, 3, 5, 7}, .values = integer_values(256), .dtype = DType::u8}},
       .build =
           [](const OperandTensors& in) {
             return Results{image_to_float(in[0], in.dtype, in.layout, {0.4, 0.5, 0.6}, {0.2, 0.25, 0.3})};
           }},
      {.name = "image_to_float_gray",
       .operands = {{.shape = {2, 1, 28, 28}, .values = integer_values(256), .dtype = DType::u8}},
       .build =
           [](const OperandTensors& in) {
             return Results{image_to_float(in[0], in.dtype, in.layout, {0.1307}, {0.3081})};
           }},
      dropout_case("dropout", {2, 3, 5, 7}, 0.3),
      dropout_case("dropout_one", {1, 1, 1, 1}, 0.5),
      dropout_case("dropout_large", {7, 11, 13, 17}, 0.1),
  };
}

std::vector<OpCase> batch_norm_cases() {
  std::vector<OpCase> cases{
      batch_norm_case("batch_norm", image({3, 5, 4, 7})),
      batch_norm_case("batch_norm_matrix", {.shape = {13, 6}}),
      batch_norm_case("batch_norm_volume", {.shape = {2, 3, 11}}),
      batch_norm_case("batch_norm_pixel", image({7, 17, 1, 1})),
      batch_norm_case("batch_norm_one_channel", image({3, 1, 5, 5})),
      batch_norm_case("batch_norm_wide", image({2, 67, 3, 3})),
      batch_norm_case("batch_norm_large", image({4, 70, 19, 23})),
      batch_norm_case("batch_norm_few_channels", image({5, 3, 61, 31})),
      batch_norm_case("batch_norm_tall", image({8, 16, 32, 32})),
      // The mean is 1000 deviations, so y of f32 inputs is only known to about 1000 roundings of the mean.
      batch_norm_case("batch_norm_large_mean", image({4, 5, 16, 16}, normal_values(1000, 1)), 2e-4),
  };
  OpCase inference{
      .name = "batch_norm_inference",
      .operands = {image({3, 5, 4, 7}), vector(5), vector(5), vector(5), vector(5, uniform_values(0.5, 2))},
      .build = [](const OperandTensors& in) {
        return Results{batch_norm_inference(in[0], in[1], in[2], in[3], in[4])};
      }};
  for (Operand& operand : inference.operands) operand.differentiable = false;
  cases.push_back(std::move(inference));
  cases.push_back({.name = "bn_running_update",
                   .operands = {vector(5), vector(5, uniform_values(0.5, 2)), state({5}),
                                state({5}, uniform_values(0.5, 2)), scalar(DType::i64, 41, BufferKind::state),
                                scalar(DType::i32, 1)},
                   .build = [](const OperandTensors& in) {
                     bn_running_update(in[0], in[1], in[2], in[3], in[4], in[5], 12);
                     return Results{};
                   }});
  return cases;
}

std::vector<OpCase> loss_cases() {
  const auto correct = [](const OperandTensors& in) { return Results{correct_count(in[0], in[1])}; };
  return {
      loss_case("softmax_cross_entropy", 5, 7, integer_values(7), 0),
      loss_case("softmax_cross_entropy_one", 1, 1, integer_values(1), 0),
      loss_case("softmax_cross_entropy_two", 3, 2, integer_values(2), 0),
      loss_case("softmax_cross_entropy_smoothed", 7, 19, integer_values(19), 0.1),
      loss_case("softmax_cross_entropy_ignored", 8, 33, some_ignored(33), 0.2),
      loss_case("softmax_cross_entropy_all_ignored", 3, 5, constant_values(ignored_label), 0),
      loss_case("softmax_cross_entropy_large", 37, 1003, some_ignored(1003), 0.1),
      {.name = "correct_count",
       .operands = {{.shape = {41, 5}}, labels(41, integer_values(5))},
       .build = correct},
      {.name = "label_count",
       .operands = {labels(41, some_ignored(5))},
       .build = [](const OperandTensors& in) { return Results{label_count(in[0])}; }},
      {.name = "label_count_one",
       .operands = {labels(1, constant_values(ignored_label))},
       .build = [](const OperandTensors& in) { return Results{label_count(in[0])}; }},
      {.name = "correct_count_large",
       .operands = {{.shape = {997, 11}, .values = integer_values(6)}, labels(997, some_ignored(11))},
       .build = correct},
  };
}

std::vector<OpCase> update_cases() {
  return {
      sgd_case("sgd", 17, {}),
      sgd_case("sgd_decay", 1, {.weight_decay = 0.1}),
      sgd_case("sgd_momentum", 40'009, {.momentum = 0.9, .weight_decay = 0.01}),
      sgd_case("sgd_dampening", 19, {.momentum = 0.9, .dampening = 0.5}),
      sgd_case("sgd_nesterov", 131, {.momentum = 0.9, .weight_decay = 0.01, .nesterov = true}),
      adam_case("adam", 17, {}),
      adam_case("adam_decay", 131, {.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1}),
      adam_case("adamw", 40'009, {.weight_decay = 0.1, .decay = AdamDecay::decoupled}),
      {.name = "finite_check",
       .operands = {scalar(DType::f32, 2.5), scalar(DType::i32, 1, BufferKind::state)},
       .build =
           [](const OperandTensors& in) {
             finite_check(in[0], in[1]);
             return Results{};
           }},
  };
}

}  // namespace swapadvisor
