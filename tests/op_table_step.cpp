// Cases of what a training step has around its gradients: LAMB, clipping, averages, micro-batches.
#include <swapadvisor/ops/adam.h>
#include <swapadvisor/ops/ema.h>
#include <swapadvisor/ops/gradient_clip.h>
#include <swapadvisor/ops/lamb.h>
#include <swapadvisor/ops/micro_batch.h>
#include <swapadvisor/ops/sgd.h>

#include "op_table.h"

namespace swapadvisor {
namespace {

using Results = std::vector<Tensor>;

Operand vector(std::int64_t n, Generator values = normal_values()) {
  return {.shape = {n}, .values = std::move(values)};
}

Operand scalar(DType dtype, double value) {
  return {.shape = {}, .values = constant_values(value), .dtype = dtype, .differentiable = false};
}

Operand state(std::int64_t n, Generator values = normal_values()) {
  return {.shape = {n}, .values = std::move(values), .kind = BufferKind::state};
}

/// What Adam and LAMB take: parameter, gradient, rate, corrections, flag, moments, gradient scale.
std::vector<Operand> moment_operands(std::int64_t n, double beta1, double beta2, std::int32_t finite) {
  return {state(n),
          vector(n),
          scalar(DType::f64, 0.05),
          scalar(DType::f64, 1 - beta1),
          scalar(DType::f64, 1 - beta2),
          scalar(DType::i32, finite),
          state(n),
          state(n, uniform_values(0, 2)),
          scalar(DType::f64, 0.3)};
}

OpCase lamb_case(std::string name, std::int64_t n, const LambOptions& options, bool scaled = false,
                 std::int32_t finite = 1) {
  return {.name = std::move(name),
          .operands = moment_operands(n, options.beta1, options.beta2, finite),
          .build = [=](const OperandTensors& in) {
            const Tensor scale = scaled ? in[8] : Tensor();
            lamb_update(in[0], in[1], {in[6], in[7], in[2], in[3], in[4], in[5], scale}, options);
            return Results{};
          }};
}

OpCase scaled_adam_case(std::string name, std::int64_t n, const AdamOptions& options) {
  return {.name = std::move(name),
          .operands = moment_operands(n, options.beta1, options.beta2, 1),
          .build = [=](const OperandTensors& in) {
            adam_update(in[0], in[1], {in[6], in[7], in[2], in[3], in[4], in[5], in[8]}, options);
            return Results{};
          }};
}

OpCase scaled_sgd_case(std::string name, std::int64_t n, const SgdOptions& options) {
  return {.name = std::move(name),
          .operands = {state(n), vector(n), scalar(DType::f64, 0.05), scalar(DType::i32, 1), state(n),
                       scalar(DType::f64, 0.3)},
          .build = [=](const OperandTensors& in) {
            sgd_update(in[0], in[1], options.momentum == 0 ? Tensor() : in[4], in[2], in[3], options, {},
                       in[5]);
            return Results{};
          }};
}

Operand::Layout layout_of(const Shape& shape) {
  return shape.rank() == 4 ? Operand::Layout::of_case : Operand::Layout::row_major;
}

OpCase square_sum_case(std::string name, const Shape& shape) {
  return {.name = std::move(name),
          .operands = {{.shape = shape, .layout = layout_of(shape), .differentiable = false}},
          .build = [](const OperandTensors& in) {
            square_sum(in[0]);
            return Results{};
          }};
}

OpCase ema_case(std::string name, std::int64_t n, double decay, std::int32_t finite = 1) {
  return {.name = std::move(name),
          .operands = {state(n), vector(n), scalar(DType::f64, decay), scalar(DType::i32, finite)},
          .build = [](const OperandTensors& in) {
            ema_update(in[0], in[1], in[2], in[3]);
            return Results{};
          }};
}

OpCase clip_case(std::string name, double max_norm) {
  return {.name = std::move(name),
          .operands = {scalar(DType::f64, 4), scalar(DType::f64, 0), scalar(DType::f64, 12)},
          .build = [=](const OperandTensors& in) {
            gradient_clip(in.tensors, max_norm);
            return Results{};
          }};
}

OpCase scale_by_case(std::string name, const Shape& shape, double factor) {
  return {.name = std::move(name),
          .operands = {{.shape = shape, .layout = layout_of(shape)}, scalar(DType::f64, factor)},
          .build = [](const OperandTensors& in) { return Results{scale_by(in[0], in[1])}; },
          .gradient_tolerance = shape.numel() > 5000 ? 0 : 2e-7};
}

}  // namespace

std::vector<OpCase> step_cases() {
  return {
      lamb_case("lamb", 17, {}),
      lamb_case("lamb_one", 1, {.weight_decay = 0.1}),
      lamb_case("lamb_decay", 8193, {.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1}),
      lamb_case("lamb_scaled", 40'009, {.weight_decay = 0.01}, true),
      lamb_case("lamb_not_finite", 33, {}, false, 0),
      scaled_adam_case("adam_scaled", 131, {.weight_decay = 0.1}),
      scaled_adam_case("adamw_scaled", 40'009, {.weight_decay = 0.1, .decay = AdamDecay::decoupled}),
      scaled_sgd_case("sgd_scaled", 17, {.weight_decay = 0.1}),
      scaled_sgd_case("sgd_scaled_momentum", 40'009, {.momentum = 0.9, .weight_decay = 0.01}),
      square_sum_case("square_sum", {37}),
      square_sum_case("square_sum_one", {1}),
      square_sum_case("square_sum_image", {3, 5, 7, 2}),
      square_sum_case("square_sum_large", {9, 4447}),
      clip_case("gradient_clip", 1.5),
      clip_case("gradient_clip_small", 100),
      ema_case("ema_update", 37, 0.9),
      ema_case("ema_update_large", 40'009, 0.999),
      ema_case("ema_update_first", 131, 0),
      ema_case("ema_update_not_finite", 5, 0.9, 0),
      scale_by_case("scale_by", {2, 3, 5, 7}, 0.3),
      scale_by_case("scale_by_scalar", {}, -1.5),
      scale_by_case("scale_by_large", {40'009}, 0.75),
      {.name = "count_share",
       .operands = {scalar(DType::i64, 3), scalar(DType::i64, 5), scalar(DType::i64, 0)},
       .build =
           [](const OperandTensors& in) {
             for (int i = 0; i < 3; ++i) count_share(in.tensors, i);
             return Results{};
           }},
      {.name = "count_share_of_nothing",
       .operands = {scalar(DType::i64, 0)},
       .build =
           [](const OperandTensors& in) {
             count_share(in.tensors, 0);
             return Results{};
           }},
  };
}

}  // namespace swapadvisor
