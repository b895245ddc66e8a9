// From a loss, whole or in parts, to the updates of its parameters.
#pragma once

#include <swapadvisor/train/optimizer.h>

#include <string>
#include <vector>

namespace swapadvisor {

/// Appends backward passes and, after the last one, the updates. A loss may come in parts whose sum it is
/// (micro-batches): the gradients of the first ones wait in sums, so that the forward pass of one part may
/// follow the backward pass of the one before.
class Minimizer {
 public:
  /// Trains the parameters that `graph` has now and that are not frozen. Throws `Error` when there is none.
  Minimizer(Graph& graph, const OptimizerOptions& options, bool output_gradients);

  /// The gradients of `part` join the sums.
  void accumulate(Tensor part);
  /// The part that is left, and the whole loss: the check that it is finite, deferred updates, the gradients
  /// of `last`, clipping, the optimizer, and the outputs of `minimize`. With clipping all updates wait for
  /// the last gradient.
  void finish(Tensor last, Tensor loss);

 private:
  void add(std::size_t i, Tensor gradient);

  Graph& graph_;
  OptimizerOptions options_;
  bool output_gradients_;
  int parts_ = 0;
  std::vector<Tensor> parameters_;
  std::vector<Tensor> sums_;   ///< per parameter: the gradient so far; absent before the first
  std::vector<bool> is_ours_;  ///< a sum made here, which may be updated in place
};

}  // namespace swapadvisor
