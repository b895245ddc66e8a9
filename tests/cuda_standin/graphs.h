// Stream capture and graphs of the stand-in.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "streams.h"

namespace standin {

/// One piece of captured work. A captured stream's nodes follow each other; `after` are those of other
/// streams that must be done, too, and the one before it.
struct GraphNode {
  std::size_t chain = 0;  ///< which captured stream
  std::vector<std::size_t> after;
  std::vector<Touched> touched;
  std::string what;
  bool counts =
      false;  ///< is an access for the hazard checker: what an op declared counts once, not per launch
  std::function<void()> run;
  SharedEvent record = nullptr;  ///< of an external record
};

/// A capture, from begin to end; what events refer to afterwards.
struct CaptureState {
  bool active = true, valid = true;
  std::vector<StreamState*> streams;  ///< by chain; the origin first
  std::vector<GraphNode> nodes;
};

/// Whether a capture is going on: nearly everything the host could wait for or allocate is illegal then, and
/// invalidates it. (CUDA lets the host wait for streams that have nothing to do with it; this does not.)
bool refused_by_capture();
/// Queues work on the stream, or adds it to the capture that the stream takes part in. `counts`: see
/// `GraphNode`; `run` may be empty, then only the access is noted.
cudaError_t queue_work(StreamState& stream, std::span<const Touched> touched, const std::string& what,
                       bool counts, std::function<void()> run);

}  // namespace standin
