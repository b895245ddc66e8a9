#include <swapadvisor/models/layers.h>
#include <swapadvisor/models/rnn.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/bias_add.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/concat.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/ops/embedding.h>
#include <swapadvisor/ops/fill.h>
#include <swapadvisor/ops/gru_cell.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/lstm_cell.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/slice.h>
#include <swapadvisor/ops/transpose.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace swapadvisor {
namespace {

/// One tensor [N, features] per time step.
using Steps = std::vector<Tensor>;

/// Of one direction of a layer, shared by its time steps.
struct Weights {
  Tensor ih, hh;
  Tensor bias_ih, bias_hh;  ///< not cast yet
};

Weights make_weights(const Scope& scope, const std::string& suffix, std::int64_t features,
                     const RnnOptions& options) {
  const std::int64_t rows = options.hidden * (options.cell == RecurrentCell::lstm ? 4 : 3);
  const double bound = 1 / std::sqrt(static_cast<double>(options.hidden));
  const Initializer init = Initializer::uniform(-bound, bound);
  return {weight(scope, "weight_ih_" + suffix, {rows, features}, init),
          weight(scope, "weight_hh_" + suffix, {rows, options.hidden}, init),
          scope.parameter("bias_ih_" + suffix, {rows}, init),
          scope.parameter("bias_hh_" + suffix, {rows}, init)};
}

/// The state before the first step is 0, so the step does without it. Where no other step follows, it is
/// there all the same, for the weights of the state are to have their gradient, which is 0.
Tensor first_state(const Scope& scope, const Weights& weights, const Steps& xs) {
  if (xs.size() > 1) return {};
  const TensorSpec spec = TensorSpec::dense(scope.dtype(), {xs[0].shape()[0], weights.hh.shape()[1]});
  return fill(scope.graph(), spec, 0, scope.name("zeros"));
}

Steps unroll_lstm(const Scope& scope, const Weights& weights, const Steps& xs) {
  const Tensor bias =
      cast(add(weights.bias_ih, weights.bias_hh, scope.name("bias")), scope.dtype(), scope.name("bias/bf16"));
  LstmState state{first_state(scope, weights, xs), {}};
  Steps hs;
  for (const Tensor& x : xs) {
    const Scope step = scope / static_cast<int>(hs.size());
    Tensor gates = linear(x, weights.ih, {}, step.name("input"));
    if (state.h) gates = add(gates, linear(state.h, weights.hh, {}, step.name("hidden")), step.name("sum"));
    state = lstm_cell(bias_add(gates, bias, step.name("gates")), state.c, step.name("cell"));
    hs.push_back(state.h);
  }
  return hs;
}

Steps unroll_gru(const Scope& scope, const Weights& weights, const Steps& xs) {
  Tensor h = first_state(scope, weights, xs);
  const Tensor bias_ih = cast(weights.bias_ih, scope.dtype(), scope.name("bias_ih/bf16")),
               bias_hh = cast(weights.bias_hh, scope.dtype(), scope.name("bias_hh/bf16"));
  Steps hs;
  for (const Tensor& x : xs) {
    const Scope step = scope / static_cast<int>(hs.size());
    const Tensor x_gates = linear(x, weights.ih, bias_ih, step.name("input"));
    const std::string name = step.name("hidden");
    const Tensor h_gates =
        h ? linear(h, weights.hh, bias_hh, name)
          : bias_add(fill(scope.graph(), x_gates.spec(), 0, name), bias_hh, name + "/bias");
    h = gru_cell(x_gates, h_gates, h, step.name("cell"));
    hs.push_back(h);
  }
  return hs;
}

/// One direction of a layer; `suffix` is PyTorch's: "l0", "l0_reverse".
Steps unroll(const Scope& scope, const std::string& suffix, const Steps& xs, const RnnOptions& options) {
  const Weights weights = make_weights(scope, suffix, xs[0].shape()[1], options);
  const auto unroll_cell = options.cell == RecurrentCell::lstm ? unroll_lstm : unroll_gru;
  return unroll_cell(scope / suffix, weights, xs);
}

Steps layer(const Scope& scope, int index, const Steps& xs, const RnnOptions& options) {
  const std::string suffix = fmt::format("l{}", index);
  Steps forward = unroll(scope, suffix, xs, options);
  if (!options.bidirectional) return forward;
  Steps backward = unroll(scope, suffix + "_reverse", {xs.rbegin(), xs.rend()}, options);
  std::reverse(backward.begin(), backward.end());
  Steps both;
  for (std::size_t t = 0; t < xs.size(); ++t)
    both.push_back(concat({forward[t], backward[t]}, 1, scope.name(fmt::format("{}_both.{}", suffix, t))));
  return both;
}

void drop(const Scope& scope, int index, Steps& xs, double probability) {
  if (probability == 0) return;  // asks for no step number
  for (std::size_t t = 0; t < xs.size(); ++t)
    xs[t] =
        dropout(xs[t], scope.step_number(), probability, scope.name(fmt::format("l{}_dropout.{}", index, t)));
}

Steps embed(const Scope& scope, Tensor ids, const RnnOptions& options) {
  const std::int64_t samples = ids.shape()[0], steps = ids.shape()[1];
  const Tensor table = scope.parameter("weight", {options.vocab, options.hidden}, Initializer::normal(0, 1));
  // Time outermost makes a step a dense view.
  const Tensor by_time = contiguous(transpose(ids), scope.name("ids_by_time"));
  const Tensor x =
      cast(embedding(by_time, table, no_padding_row, scope.path()), scope.dtype(), scope.path() + "/bf16");
  Steps xs;
  for (std::int64_t t = 0; t < steps; ++t)
    xs.push_back(reshape(slice(x, 0, t, 1), {samples, options.hidden}));
  return xs;
}

}  // namespace

RecurrentCell parse_recurrent_cell(std::string_view name) {
  if (name == "lstm") return RecurrentCell::lstm;
  if (name == "gru") return RecurrentCell::gru;
  fail("there is no recurrent cell '{}': expected lstm or gru", name);
}

Tensor rnn(const Scope& scope, Tensor ids, const RnnOptions& options) {
  if (ids.shape().rank() != 2 || ids.dtype() != DType::i32)
    fail("a recurrent network expects ids i32 [N, T], got {}", to_string(ids.spec()));
  if (options.layers < 1) fail("a recurrent network needs at least 1 layer, got {}", options.layers);
  Steps xs = embed(scope / "embedding", ids, options);
  const Scope stack = scope / "rnn";
  for (int l = 0; l < options.layers; ++l) {
    if (l > 0 && scope.training()) drop(stack, l, xs, options.dropout);
    xs = layer(stack, l, xs, options);
  }
  const std::int64_t samples = ids.shape()[0], features = xs[0].shape()[1];
  for (Tensor& x : xs) x = reshape(x, {samples, 1, features});
  const Tensor states = reshape(concat(xs, 1, stack.name("states")), {ids.spec().numel(), features});
  return linear(scope / "linear", states, options.vocab);
}

}  // namespace swapadvisor
