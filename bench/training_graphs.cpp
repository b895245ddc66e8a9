#include "training_graphs.h"

#include <swapadvisor/core/error.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace swapadvisor::bench {
namespace {

constexpr double flops_per_second = 12e12;
constexpr double bytes_per_second = 7e11;

/// Forward ops are added in order, each with the step back that turns the gradient of its outcome into that
/// of its input; `finish` walks the steps back and adds the updates.
class TrainingStep {
 public:
  using StepBack = std::function<std::int32_t(std::int32_t)>;

  explicit TrainingStep(std::string name) { graph_.name = std::move(name); }

  std::int64_t bytes_of(std::int32_t b) const { return graph_.buffers[static_cast<std::size_t>(b)].bytes; }

  std::int32_t buffer(const std::string& name, std::int64_t bytes, BufferKind kind = BufferKind::temporary) {
    graph_.buffers.push_back({name + std::to_string(graph_.buffers.size()), bytes, kind});
    return static_cast<std::int32_t>(graph_.buffers.size()) - 1;
  }
  std::int32_t like(const std::string& name, std::int32_t other) { return buffer(name, bytes_of(other)); }

  void op(const std::string& type, std::vector<std::int32_t> in, std::vector<std::int32_t> out,
          double seconds) {
    graph_.ops.push_back({type + std::to_string(graph_.ops.size()), type, std::move(in), std::move(out), 0,
                          seconds, true, false});
  }
  // An op that is as fast as memory lets it.
  void streaming_op(const std::string& type, std::vector<std::int32_t> in, std::vector<std::int32_t> out) {
    std::int64_t bytes = 0;
    for (const auto* side : {&in, &out})
      for (std::int32_t b : *side) bytes += bytes_of(b);
    op(type, std::move(in), std::move(out), static_cast<double>(bytes) / bytes_per_second);
  }

  struct Parameter {
    std::int32_t value, momentum, gradient;
  };
  Parameter parameter(std::int64_t bytes) {
    return parameters_.emplace_back(Parameter{buffer("p", bytes, BufferKind::parameter),
                                              buffer("m", bytes, BufferKind::state), buffer("dp", bytes)});
  }

  void back(StepBack step) { steps_back_.push_back(std::move(step)); }

  PlanGraph finish(std::int32_t x) {
    const std::int32_t loss = buffer("loss", 4, BufferKind::output);
    std::int32_t gradient = like("g", x);
    op("loss", {x}, {loss, gradient}, 1e-4);
    for (; !steps_back_.empty(); steps_back_.pop_back()) gradient = steps_back_.back()(gradient);
    for (const Parameter& p : parameters_)
      op("sgd", {p.value, p.momentum, p.gradient}, {p.value, p.momentum}, 1e-5);
    check(graph_);
    return std::move(graph_);
  }

 private:
  PlanGraph graph_;
  std::vector<StepBack> steps_back_;
  std::vector<Parameter> parameters_;
};

std::int32_t relu(TrainingStep& step, std::int32_t z) {
  const std::int32_t a = step.like("a", z);
  step.streaming_op("relu", {z}, {a});
  step.back([&step, a](std::int32_t da) {
    const std::int32_t dz = step.like("dz", a);
    step.streaming_op("relu_backward", {a, da}, {dz});
    return dz;
  });
  return a;
}

std::int32_t convolution_layer(TrainingStep& step, std::int64_t batch, std::int32_t x, std::int64_t in,
                               std::int64_t out, std::int64_t kernel, std::int64_t side,
                               bool input_gradient) {
  const std::int64_t bytes = batch * out * side * side * 4;
  const double seconds =
      static_cast<double>(batch * out * side * side * in * kernel * kernel) * 2 / flops_per_second;
  const auto w = step.parameter(in * out * kernel * kernel * 4), scale = step.parameter(out * 8);
  const std::int32_t y = step.buffer("y", bytes), z = step.buffer("z", bytes),
                     mean = step.buffer("mean", out * 8);
  step.op("conv", {x, w.value}, {y}, seconds);
  step.streaming_op("bn", {y, scale.value}, {z, mean});
  step.back([=, &step](std::int32_t dz) {
    const std::int32_t dy = step.like("dy", y);
    step.streaming_op("bn_backward", {y, scale.value, mean, dz}, {dy, scale.gradient});
    step.op("conv_backward_weight", {x, dy}, {w.gradient}, seconds);
    if (!input_gradient) return dz;
    const std::int32_t dx = step.like("dx", x);
    step.op("conv_backward_data", {w.value, dy}, {dx}, seconds);
    return dx;
  });
  return relu(step, z);
}

// y = x W for `rows` rows.
std::int32_t linear(TrainingStep& step, std::int32_t x, std::int64_t rows, std::int64_t in,
                    std::int64_t out) {
  const double seconds = static_cast<double>(rows * in * out) * 2 / flops_per_second;
  const auto w = step.parameter(in * out * 4);
  const std::int32_t y = step.buffer("y", rows * out * 4);
  step.op("linear", {x, w.value}, {y}, seconds);
  step.back([=, &step](std::int32_t dy) {
    const std::int32_t dx = step.like("dx", x);
    step.op("linear_backward_weight", {x, dy}, {w.gradient}, seconds);
    step.op("linear_backward_data", {w.value, dy}, {dx}, seconds);
    return dx;
  });
  return y;
}

// An elementwise or row-wise op whose gradient needs its outcome.
std::int32_t pointwise(TrainingStep& step, const std::string& type, std::int32_t x) {
  const std::int32_t y = step.like("y", x);
  step.streaming_op(type, {x}, {y});
  step.back([&step, type, y](std::int32_t dy) {
    const std::int32_t dx = step.like("dx", y);
    step.streaming_op(type + "_backward", {y, dy}, {dx});
    return dx;
  });
  return y;
}

// x + branch(x): the gradient of the sum goes both ways, and what comes back from the branch is added to it.
std::int32_t residual(TrainingStep& step, std::int32_t x,
                      const std::function<std::int32_t(std::int32_t)>& branch) {
  auto direct = std::make_shared<std::int32_t>(-1);
  step.back([&step, direct](std::int32_t from_branch) {
    const std::int32_t dx = step.like("dx", from_branch);
    step.streaming_op("add", {from_branch, *direct}, {dx});
    return dx;
  });
  const std::int32_t y = branch(x), sum = step.like("sum", x);
  step.streaming_op("add", {x, y}, {sum});
  step.back([direct](std::int32_t gradient) { return *direct = gradient; });
  return sum;
}

std::int32_t attention(TrainingStep& step, std::int32_t qkv, std::int64_t rows, std::int64_t width,
                       std::int64_t length) {
  const double seconds = static_cast<double>(rows * length * width) * 4 / flops_per_second;
  const std::int32_t weights = step.buffer("weights", rows * length * 4),
                     context = step.buffer("context", rows * width * 4);
  step.op("attention", {qkv}, {context, weights}, seconds);
  step.back([=, &step](std::int32_t dcontext) {
    const std::int32_t dqkv = step.like("dqkv", qkv);
    step.op("attention_backward", {qkv, weights, dcontext}, {dqkv}, 2 * seconds);
    return dqkv;
  });
  return context;
}

}  // namespace

PlanGraph residual_network(std::int64_t blocks, std::int64_t batch) {
  TrainingStep step("bench-resnet");
  const std::int32_t image = step.buffer("image", batch * 3 * 224 * 224 * 4, BufferKind::input);
  std::int32_t x = convolution_layer(step, batch, image, 3, 64, 7, 112, false);
  std::int64_t channels = 64;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t stage = block * 4 / blocks;
    const std::int64_t width = std::int64_t{64} << stage, side = std::int64_t{56} >> stage;
    std::int32_t y = convolution_layer(step, batch, x, channels, width, 1, side, true);
    y = convolution_layer(step, batch, y, width, width, 3, side, true);
    y = convolution_layer(step, batch, y, width, width * 4, 1, side, true);
    channels = width * 4;
    x = relu(step, y);
  }
  return step.finish(x);
}

PlanGraph transformer(std::int64_t layers, std::int64_t batch) {
  constexpr std::int64_t length = 512, width = 1024;
  const std::int64_t rows = batch * length;
  TrainingStep step("bench-transformer");
  std::int32_t x = step.buffer("embedding", rows * width * 4, BufferKind::input);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    x = residual(step, x, [&](std::int32_t in) {
      const std::int32_t qkv = linear(step, pointwise(step, "layer_norm", in), rows, width, 3 * width);
      return pointwise(step, "dropout",
                       linear(step, attention(step, qkv, rows, width, length), rows, width, width));
    });
    x = residual(step, x, [&](std::int32_t in) {
      const std::int32_t hidden =
          pointwise(step, "gelu", linear(step, pointwise(step, "layer_norm", in), rows, width, 4 * width));
      return pointwise(step, "dropout", linear(step, hidden, rows, 4 * width, width));
    });
  }
  return step.finish(x);
}

PlanGraph unrolled_lstm(std::int64_t layers, std::int64_t steps, std::int64_t batch) {
  constexpr std::int64_t width = 1024;
  const std::int64_t bytes = batch * width * 4;
  const double seconds = static_cast<double>(batch * width * width) * 16 / flops_per_second;
  TrainingStep step("bench-lstm");
  const std::int32_t zero = step.buffer("zero", bytes, BufferKind::input);
  std::vector<TrainingStep::Parameter> weights;
  for (std::int64_t l = 0; l < layers; ++l) weights.push_back(step.parameter(8 * width * width * 4));

  std::vector<std::int32_t> hidden(weights.size(), zero), cell(weights.size(), zero);
  // Of the cell one step later in the same layer; -1 before there is one.
  auto hidden_gradient = std::make_shared<std::vector<std::int32_t>>(weights.size(), -1);
  auto cell_gradient = std::make_shared<std::vector<std::int32_t>>(weights.size(), -1);
  std::int32_t x = step.buffer("x", bytes, BufferKind::input);
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::size_t l = 0; l < weights.size(); ++l) {
      const TrainingStep::Parameter w = weights[l];
      const std::int32_t h_before = hidden[l], c_before = cell[l], gates = step.buffer("gates", 4 * bytes);
      step.op("gates", {x, h_before, w.value}, {gates}, seconds);
      cell[l] = step.buffer("c", bytes);
      hidden[l] = step.buffer("h", bytes);
      step.streaming_op("cell", {gates, c_before}, {cell[l], hidden[l]});
      step.back([=, &step, c = cell[l]](std::int32_t dh_above) {
        std::vector<std::int32_t> in{gates, c_before, c, dh_above};
        const bool last = (*hidden_gradient)[l] < 0;
        if (!last) in.insert(in.end(), {(*hidden_gradient)[l], (*cell_gradient)[l]});
        const std::int32_t dgates = step.like("dgates", gates), dc = step.buffer("dc", bytes),
                           dx = step.buffer("dx", bytes), dh = step.buffer("dh", bytes);
        step.streaming_op("cell_backward", std::move(in), {dgates, dc});
        step.op("gates_backward_data", {dgates, w.value}, {dx, dh}, seconds);
        std::vector<std::int32_t> factors{x, h_before, dgates};
        if (!last) factors.push_back(w.gradient);
        step.op("gates_backward_weight", std::move(factors), {w.gradient}, seconds);
        (*hidden_gradient)[l] = dh;
        (*cell_gradient)[l] = dc;
        return dx;
      });
      x = hidden[l];
    }
  }
  return step.finish(x);
}

PlanGraph training_graph(std::string_view network, std::int64_t ops) {
  const auto parts = [&](std::int64_t ops_per_part) { return (ops + ops_per_part - 1) / ops_per_part; };
  if (network == "resnet") return residual_network(parts(29), 64);
  if (network == "transformer") return transformer(parts(41), 8);
  if (network == "lstm") return unrolled_lstm(8, parts(40), 256);
  fail("there is no network '{}': choose from resnet, transformer, lstm", network);
}

}  // namespace swapadvisor::bench
