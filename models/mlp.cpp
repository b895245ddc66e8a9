#include <swapadvisor/models/layers.h>
#include <swapadvisor/models/mlp.h>
#include <swapadvisor/ops/dropout.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/relu.h>

namespace swapadvisor {

Tensor mlp(const Scope& scope, Tensor input, const MlpOptions& options) {
  Tensor x = flatten(input);
  for (std::int64_t i = 1; i <= options.layers; ++i) {
    x = linear(scope / fmt::format("fc{}", i), x, options.hidden);
    x = relu(x, scope.name(fmt::format("relu{}", i)));
    if (scope.training() && options.dropout > 0)
      x = dropout(x, scope.step_number(), options.dropout, scope.name(fmt::format("dropout{}", i)));
  }
  return linear(scope / fmt::format("fc{}", options.layers + 1), x, options.classes);
}

}  // namespace swapadvisor
