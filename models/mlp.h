// Multilayer perceptron.
#pragma once

#include <swapadvisor/core/scope.h>

#include <cstdint>

namespace swapadvisor {

/// Sizes of a multilayer perceptron.
struct MlpOptions {
  std::int64_t hidden = 512;  ///< features of each hidden layer
  std::int64_t layers = 2;    ///< hidden layers; 0 is softmax regression
  std::int64_t classes = 10;
  double dropout = 0;         ///< probability after each hidden layer, while training
};

/// input [N, …], flattened to [N, features] → logits [N, classes]: linear layers fc1, fc2, … with ReLU in
/// between.
Tensor mlp(const Scope& scope, Tensor input, const MlpOptions& options);

}  // namespace swapadvisor
