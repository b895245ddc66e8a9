// The moving averages in the place of the parameters, for evaluation and for saved weights.
#pragma once

#include <swapadvisor/core/graph.h>
#include <swapadvisor/core/host_store.h>

namespace swapadvisor {

/// While it lives, the host store has each parameter's average (`OptimizerOptions::ema_decay`) under the
/// parameter's name, and the parameter under the average's. No memory is needed. Sessions must have been
/// drained, and no step of `graph` may run meanwhile. Does nothing for a graph without averages.
class AveragedParameters {
 public:
  AveragedParameters(const Graph& graph, HostStore& host);
  ~AveragedParameters();
  AveragedParameters(const AveragedParameters&) = delete;
  AveragedParameters& operator=(const AveragedParameters&) = delete;

 private:
  void exchange();

  const Graph& graph_;
  HostStore& host_;
};

}  // namespace swapadvisor
