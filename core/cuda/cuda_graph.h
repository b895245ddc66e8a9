// Captured work as a CUDA graph.
#pragma once

#include <swapadvisor/core/capture.h>
#include <swapadvisor/core/cuda/cuda_stream.h>

#include <functional>
#include <optional>
#include <utility>

namespace swapadvisor::cuda {

/// Owns a cudaGraph_t, or none.
class GraphHandle {
 public:
  explicit GraphHandle(cudaGraph_t graph = nullptr) : graph_(graph) {}
  ~GraphHandle() {
    if (graph_) cudaGraphDestroy(graph_);
  }
  GraphHandle(GraphHandle&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  GraphHandle& operator=(GraphHandle&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  cudaGraph_t get() const { return graph_; }

 private:
  cudaGraph_t graph_;
};

/// Owns a cudaGraphExec_t: a graph ready to launch.
class GraphExecHandle {
 public:
  explicit GraphExecHandle(const GraphHandle& graph) {
    check(cudaGraphInstantiate(&exec_, graph.get(), 0), "instantiation of a graph");
  }
  ~GraphExecHandle() { cudaGraphExecDestroy(exec_); }
  GraphExecHandle(const GraphExecHandle&) = delete;
  GraphExecHandle& operator=(const GraphExecHandle&) = delete;
  cudaGraphExec_t get() const { return exec_; }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

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
  std::optional<GraphExecHandle> exec_;
  std::int64_t nodes_ = 0;
};

}  // namespace swapadvisor::cuda
