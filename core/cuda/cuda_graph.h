// Captured work as a CUDA graph.
#pragma once

#include <swapadvisor/core/capture.h>
#include <swapadvisor/core/cuda/cuda_stream.h>

#include <functional>

namespace swapadvisor::cuda {

using GraphHandle = Handle<cudaGraph_t, cudaGraphDestroy>;
/// A graph ready to launch.
using GraphExecHandle = Handle<cudaGraphExec_t, cudaGraphExecDestroy>;

/// A capture that began in one stream, while it lives. Ending it without `end` drops what was captured.
class CaptureScope {
 public:
  explicit CaptureScope(cudaStream_t origin);
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;
  /// Throws `Error` when something could not be captured or a stream was not joined.
  GraphHandle end();

 private:
  cudaStream_t origin_;
  bool ended_ = false;
};

/// An instantiated graph, launched into one stream.
class CudaGraph final : public CapturedWork {
 public:
  /// Captures what `queue` queues on `origin` and `others`, which take part from the beginning to the end.
  CudaGraph(CudaStream& origin, std::initializer_list<CudaStream*> others,
            const std::function<void()>& queue);

  void launch() override;
  std::int64_t nodes() const override { return nodes_; }

 private:
  cudaStream_t stream_;
  GraphExecHandle exec_;
  std::int64_t nodes_ = 0;
};

}  // namespace swapadvisor::cuda
