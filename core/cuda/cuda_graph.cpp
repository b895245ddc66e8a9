#include <swapadvisor/core/cuda/cuda_graph.h>

#include <vector>

namespace swapadvisor::cuda {
namespace {

void order(cudaStream_t later, cudaStream_t earlier, const EventHandle& event) {
  check(cudaEventRecord(event.get(), earlier), "record of an event in a capture");
  check(cudaStreamWaitEvent(later, event.get(), 0), "wait for an event in a capture");
}

}  // namespace

CaptureScope::CaptureScope(cudaStream_t origin) : origin_(origin) {
  // Other threads may use CUDA as they like: nothing of theirs takes part.
  check(cudaStreamBeginCapture(origin_, cudaStreamCaptureModeThreadLocal), "begin of a capture");
}

CaptureScope::~CaptureScope() {
  if (ended_) return;
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(origin_, &graph) == cudaSuccess && graph) cudaGraphDestroy(graph);
  (void)cudaGetLastError();
}

GraphHandle CaptureScope::end() {
  cudaGraph_t graph = nullptr;
  ended_ = true;  // whatever comes of it
  check(cudaStreamEndCapture(origin_, &graph), "end of a capture");
  return GraphHandle(graph);
}

CudaGraph::CudaGraph(CudaStream& origin, std::initializer_list<CudaStream*> others,
                     const std::function<void()>& queue)
    : stream_(origin.get()) {
  const EventHandle fork;
  const std::vector<EventHandle> joins(others.size());
  CaptureScope scope(stream_);
  for (CudaStream* other : others) order(other->get(), stream_, fork);
  queue();
  std::size_t i = 0;
  for (CudaStream* other : others) order(stream_, other->get(), joins[i++]);
  const GraphHandle graph = scope.end();
  std::size_t nodes = 0;
  check(cudaGraphGetNodes(graph.get(), nullptr, &nodes), "count of a graph's nodes");
  nodes_ = static_cast<std::int64_t>(nodes);
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph.get(), 0), "instantiation of a graph");
  exec_ = GraphExecHandle(exec);
  // What the driver needs for it is taken now, while something else can still be done.
  check(cudaGraphUpload(exec_.get(), stream_), "upload of a graph");
}

void CudaGraph::launch() {
  check(cudaGraphLaunch(exec_.get(), stream_), "launch of a graph");
}

}  // namespace swapadvisor::cuda
