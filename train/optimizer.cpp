#include <swapadvisor/ops/adam.h>
#include <swapadvisor/ops/ema.h>
#include <swapadvisor/ops/lamb.h>
#include <swapadvisor/ops/sgd.h>
#include <swapadvisor/train/optimizer.h>
#include <swapadvisor/train/training_graph.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor {

std::vector<std::string> optimizer_names() {
  return {"sgd", "adam", "adamw", "lamb"};
}

void check(const OptimizerOptions& options) {
  const std::vector<std::string> names = optimizer_names();
  if (std::find(names.begin(), names.end(), options.name) == names.end())
    fail("unknown optimizer '{}': expected sgd, adam, adamw or lamb", options.name);
  const double decay = options.decay();
  if (!(decay >= 0 && std::isfinite(decay))) fail("weight decay {} is negative or not finite", decay);
  if (!(options.clip_norm >= 0 && std::isfinite(options.clip_norm)))
    fail("the largest gradient norm {} is negative or not finite", options.clip_norm);
  if (!(options.ema_decay >= 0 && options.ema_decay < 1))
    fail("the decay {} of the average of the parameters is not in [0, 1)", options.ema_decay);
  if (options.name == "sgd") {
    if (!(options.momentum >= 0 && options.momentum < 1))
      fail("momentum {} is not in [0, 1)", options.momentum);
    if (options.nesterov && options.momentum == 0) fail("Nesterov momentum needs a momentum above 0");
    return;
  }
  for (double beta : {options.beta1, options.beta2})
    if (!(beta >= 0 && beta < 1)) fail("beta {} is not in [0, 1)", beta);
  const double epsilon = options.divisor_epsilon();
  if (!(epsilon >= 0 && std::isfinite(epsilon))) fail("epsilon {} is negative or not finite", epsilon);
}

Optimizer::Optimizer(Graph& graph, OptimizerOptions options) : graph_(graph), options_(std::move(options)) {
  check(options_);
  const TensorSpec scalar = TensorSpec::dense(DType::f64, {});
  learning_rate_ = graph.input(names::learning_rate, scalar);
  if (options_.ema_decay > 0) ema_decay_ = graph.input(names::ema_decay, scalar);
  if (options_.name == "sgd") return;
  correction1_ = graph.input(names::bias_correction1, scalar);
  correction2_ = graph.input(names::bias_correction2, scalar);
}

void Optimizer::update(Tensor parameter, Tensor gradient, Tensor finite, Tensor gradient_scale) {
  if (options_.name == "sgd")
    sgd(parameter, gradient, finite, gradient_scale);
  else
    adam(parameter, gradient, finite, gradient_scale);
  if (options_.ema_decay > 0) average(parameter.name(), finite);
}

void Optimizer::sgd(Tensor parameter, Tensor gradient, Tensor finite, Tensor gradient_scale) {
  const std::string& name = parameter.name();
  Tensor momentum;
  if (options_.momentum != 0)
    momentum = graph_.state(names::momentum_prefix + name, parameter.spec(), Initializer::zeros());
  sgd_update(parameter, gradient, momentum, learning_rate_, finite,
             {options_.momentum, 0, options_.decay(), options_.nesterov}, "sgd/" + name, gradient_scale);
}

void Optimizer::adam(Tensor parameter, Tensor gradient, Tensor finite, Tensor gradient_scale) {
  const std::string& name = parameter.name();
  const auto moment = [&](const std::string& prefix) {
    return graph_.state(prefix + name, parameter.spec(), Initializer::zeros());
  };
  const Tensor first = moment(names::exp_avg_prefix), second = moment(names::exp_avg_sq_prefix);
  const std::string node = options_.name + "/" + name;
  const double epsilon = options_.divisor_epsilon();
  if (options_.name == "lamb") {
    lamb_update(parameter, gradient,
                {first, second, learning_rate_, correction1_, correction2_, finite, gradient_scale},
                {options_.beta1, options_.beta2, epsilon, options_.decay()}, node);
    return;
  }
  adam_update(parameter, gradient,
              {first, second, learning_rate_, correction1_, correction2_, finite, gradient_scale},
              {options_.beta1, options_.beta2, epsilon, options_.decay(),
               options_.name == "adamw" ? AdamDecay::decoupled : AdamDecay::gradient},
              node);
}

void Optimizer::average(const std::string& name, Tensor finite) {
  const Tensor updated = graph_.find(name);
  const Tensor average = graph_.state(names::ema_prefix + name, updated.spec(), Initializer::zeros());
  ema_update(average, updated, ema_decay_, finite, fmt::format("ema/{}", name));
}

StepScalars::StepScalars(const OptimizerOptions& options, std::int64_t step, double learning_rate)
    : number_(step), learning_rate_(learning_rate) {
  const auto t = static_cast<double>(step + 1);
  correction1_ = 1 - std::pow(options.beta1, t);
  correction2_ = 1 - std::pow(options.beta2, t);
  ema_decay_ = step == 0 ? 0 : options.ema_decay;
}

void StepScalars::add_to(Inputs& inputs, const Graph& graph) const {
  const auto add = [&](const char* name, const auto& value) {
    if (graph.find_buffer(name) >= 0) inputs[name] = value;
  };
  add(names::step_number, number_);
  add(names::learning_rate, learning_rate_);
  add(names::bias_correction1, correction1_);
  add(names::bias_correction2, correction2_);
  add(names::ema_decay, ema_decay_);
}

}  // namespace swapadvisor
