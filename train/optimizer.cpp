#include <swapadvisor/ops/adam.h>
#include <swapadvisor/ops/sgd.h>
#include <swapadvisor/train/optimizer.h>
#include <swapadvisor/train/training_graph.h>

#include <cmath>

namespace swapadvisor {

void check(const OptimizerOptions& options) {
  if (options.name != "sgd" && options.name != "adam" && options.name != "adamw")
    fail("unknown optimizer '{}': expected sgd, adam or adamw", options.name);
  const double decay = options.decay();
  if (!(decay >= 0 && std::isfinite(decay))) fail("weight decay {} is negative or not finite", decay);
  if (options.name == "sgd") {
    if (!(options.momentum >= 0 && options.momentum < 1))
      fail("momentum {} is not in [0, 1)", options.momentum);
    if (options.nesterov && options.momentum == 0) fail("Nesterov momentum needs a momentum above 0");
    return;
  }
  for (double beta : {options.beta1, options.beta2})
    if (!(beta >= 0 && beta < 1)) fail("beta {} is not in [0, 1)", beta);
  if (!(options.epsilon >= 0 && std::isfinite(options.epsilon)))
    fail("epsilon {} is negative or not finite", options.epsilon);
}

Optimizer::Optimizer(Graph& graph, OptimizerOptions options) : graph_(graph), options_(std::move(options)) {
  check(options_);
  const TensorSpec scalar = TensorSpec::dense(DType::f64, {});
  learning_rate_ = graph.input(names::learning_rate, scalar);
  if (options_.name == "sgd") return;
  correction1_ = graph.input(names::bias_correction1, scalar);
  correction2_ = graph.input(names::bias_correction2, scalar);
}

void Optimizer::update(Tensor parameter, Tensor gradient, Tensor finite) {
  if (options_.name == "sgd")
    sgd(parameter, gradient, finite);
  else
    adam(parameter, gradient, finite);
}

void Optimizer::sgd(Tensor parameter, Tensor gradient, Tensor finite) {
  const std::string& name = parameter.name();
  Tensor momentum;
  if (options_.momentum != 0)
    momentum = graph_.state(names::momentum_prefix + name, parameter.spec(), Initializer::zeros());
  sgd_update(parameter, gradient, momentum, learning_rate_, finite,
             {options_.momentum, 0, options_.decay(), options_.nesterov}, "sgd/" + name);
}

void Optimizer::adam(Tensor parameter, Tensor gradient, Tensor finite) {
  const std::string& name = parameter.name();
  const auto moment = [&](const std::string& prefix) {
    return graph_.state(prefix + name, parameter.spec(), Initializer::zeros());
  };
  const Tensor first = moment(names::exp_avg_prefix), second = moment(names::exp_avg_sq_prefix);
  adam_update(parameter, gradient, {first, second, learning_rate_, correction1_, correction2_, finite},
              {options_.beta1, options_.beta2, options_.epsilon, options_.decay(),
               options_.name == "adamw" ? AdamDecay::decoupled : AdamDecay::gradient},
              options_.name + "/" + name);
}

StepScalars::StepScalars(const OptimizerOptions& options, std::int64_t step, double learning_rate)
    : number_(step), learning_rate_(learning_rate) {
  const auto t = static_cast<double>(step + 1);
  correction1_ = 1 - std::pow(options.beta1, t);
  correction2_ = 1 - std::pow(options.beta2, t);
}

void StepScalars::add_to(Inputs& inputs, const Graph& graph) const {
  const auto add = [&](const char* name, const auto& value) {
    if (graph.find_buffer(name) >= 0) inputs[name] = value;
  };
  add(names::step_number, number_);
  add(names::learning_rate, learning_rate_);
  add(names::bias_correction1, correction1_);
  add(names::bias_correction2, correction2_);
}

}  // namespace swapadvisor
