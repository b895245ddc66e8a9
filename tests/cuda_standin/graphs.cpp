// A graph is launched as streams and events of its own: one stream per captured stream, an event per
// dependency between them. So its nodes run in any order that the dependencies allow, by the scheduler, and
// the hazard checker sees no more order than there is.
#include "graphs.h"

#include <algorithm>
#include <unordered_set>

#include "launches.h"
#include "memory.h"

using namespace standin;

namespace {

using Nodes = std::shared_ptr<const std::vector<GraphNode>>;

struct Graph {
  Nodes nodes;
  std::size_t chains = 0;
};

/// A graph that can be launched.
class Exec {
 public:
  explicit Exec(const Graph& graph) : nodes_(graph.nodes), awaited_(graph.nodes->size()) {
    for (std::size_t c = 0; c < graph.chains; ++c) {
      streams_.push_back(scheduler().create_stream());
      ends_.push_back(std::make_shared<EventState>());
    }
    for (const GraphNode& node : *nodes_)
      for (const std::size_t earlier : node.after)
        if ((*nodes_)[earlier].chain != node.chain && !awaited_[earlier])
          awaited_[earlier] = std::make_shared<EventState>();
  }
  ~Exec() {
    for (StreamState* stream : streams_) {
      (void)scheduler().drain(*stream);
      scheduler().destroy_stream(stream);
    }
  }
  Exec(const Exec&) = delete;
  Exec& operator=(const Exec&) = delete;

  /// After what `stream` was given before, and after the graph's own last launch.
  void launch(StreamState& stream) {
    scheduler().wait(stream, end_);
    scheduler().record(stream, begin_);
    for (StreamState* own : streams_) scheduler().wait(*own, begin_);
    for (std::size_t i = 0; i < nodes_->size(); ++i) run(i);
    for (std::size_t c = 0; c < streams_.size(); ++c) {
      scheduler().record(*streams_[c], ends_[c]);
      scheduler().wait(stream, ends_[c]);
    }
    scheduler().record(stream, end_);
  }

 private:
  void run(std::size_t i) {
    const GraphNode& node = (*nodes_)[i];
    StreamState& stream = *streams_[node.chain];
    for (const std::size_t earlier : node.after)
      if (awaited_[earlier] && (*nodes_)[earlier].chain != node.chain)
        scheduler().wait(stream, awaited_[earlier]);
    if (node.counts) hazards().work(stream.number, node.touched, node.what);
    if (node.run) scheduler().push(stream, node.run);
    if (node.record) scheduler().record(stream, node.record);
    if (awaited_[i]) scheduler().record(stream, awaited_[i]);
  }

  Nodes nodes_;
  std::vector<SharedEvent> awaited_;   // per node: of those that another chain waits for
  std::vector<StreamState*> streams_;  // per chain
  std::vector<SharedEvent> ends_;      // per chain
  SharedEvent begin_ = std::make_shared<EventState>(), end_ = std::make_shared<EventState>();
};

std::vector<std::shared_ptr<CaptureState>>& captures() {
  static auto* const active = new std::vector<std::shared_ptr<CaptureState>>;
  return *active;
}

/// Handles that were given out.
std::unordered_set<const void*>& handles() {
  static auto* const all = new std::unordered_set<const void*>;
  return *all;
}

/// The streams are as before it.
void end(const std::shared_ptr<CaptureState>& capture) {
  capture->active = false;
  std::erase(captures(), capture);
  for (StreamState* stream : capture->streams) {
    stream->capture = nullptr;
    stream->after.clear();
  }
}

void join(StreamState& stream, const std::shared_ptr<CaptureState>& capture) {
  stream.capture = capture;
  stream.chain = capture->streams.size();
  stream.after.clear();
  capture->streams.push_back(&stream);
}

/// Does everything that was captured come before the end of the origin?
bool all_joined(const CaptureState& capture) {
  std::vector<bool> reached(capture.nodes.size());
  std::vector<std::size_t> open = capture.streams.front()->after;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    open.insert(open.end(), capture.nodes[node].after.begin(), capture.nodes[node].after.end());
  }
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}

cudaError_t spoil(CaptureState& capture, cudaError_t error) {
  capture.valid = false;
  return result(error);
}

cudaError_t add_node(StreamState& stream, GraphNode node) {
  CaptureState& capture = *stream.capture;
  if (!capture.valid) return result(cudaErrorStreamCaptureInvalidated);
  node.chain = stream.chain;
  node.after = std::move(stream.after);
  stream.after = {capture.nodes.size()};
  capture.nodes.push_back(std::move(node));
  return cudaSuccess;
}

SharedEvent& state(cudaEvent_t event) {
  return *reinterpret_cast<SharedEvent*>(event);
}

cudaError_t wait_captured(StreamState& stream, const EventState& event) {
  const auto& capture = event.capture;
  if (!stream.capture) {
    if (!capture->active) return result(cudaErrorCapturedEvent);
    if (!capture->valid) return result(cudaErrorStreamCaptureInvalidated);
    join(stream, capture);
  } else if (!stream.capture->valid) {
    return result(cudaErrorStreamCaptureInvalidated);
  } else if (!capture) {  // recorded outside
    return event.queued == 0 ? cudaSuccess : spoil(*stream.capture, cudaErrorStreamCaptureIsolation);
  } else if (capture != stream.capture) {
    capture->valid = false;
    return spoil(*stream.capture,
                 capture->active ? cudaErrorStreamCaptureMerge : cudaErrorStreamCaptureIsolation);
  }
  for (const std::size_t node : event.captured_after)
    if (std::find(stream.after.begin(), stream.after.end(), node) == stream.after.end())
      stream.after.push_back(node);
  return cudaSuccess;
}

template <class T>
T* known(const void* handle) {
  return handles().contains(handle) ? static_cast<T*>(const_cast<void*>(handle)) : nullptr;
}

template <class T>
cudaError_t destroy(const void* handle) {
  T* const object = known<T>(handle);
  if (!object) return result(cudaErrorInvalidValue);
  handles().erase(object);
  delete object;
  return cudaSuccess;
}

}  // namespace

namespace standin {

bool refused_by_capture() {
  for (const auto& capture : captures()) capture->valid = false;
  return !captures().empty();
}

cudaError_t queue_work(StreamState& stream, std::span<const Touched> touched, const std::string& what,
                       bool counts, std::function<void()> run) {
  if (stream.capture)
    return add_node(stream, {.after = {},
                             .touched = {touched.begin(), touched.end()},
                             .what = what,
                             .counts = counts,
                             .run = std::move(run)});
  if (counts) hazards().work(stream.number, touched, what);
  if (run) scheduler().push(stream, std::move(run));
  return cudaSuccess;
}

}  // namespace standin

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  StreamState* s = stream_state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  if (s->capture) return result(cudaErrorIllegalState);
  const auto capture = std::make_shared<CaptureState>();
  join(*s, capture);
  captures().push_back(capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  StreamState* s = stream_state(stream);
  if (!s) return result(cudaErrorInvalidResourceHandle);
  if (!s->capture) return result(cudaErrorIllegalState);
  const std::shared_ptr<CaptureState> capture = s->capture;
  if (capture->streams.front() != s) return spoil(*capture, cudaErrorStreamCaptureUnmatched);
  const bool joined = all_joined(*capture);
  end(capture);
  if (!capture->valid) return result(cudaErrorStreamCaptureInvalidated);
  if (!joined) return result(cudaErrorStreamCaptureUnjoined);
  auto* made =
      new Graph{std::make_shared<std::vector<GraphNode>>(std::move(capture->nodes)), capture->streams.size()};
  handles().insert(made);
  *graph = reinterpret_cast<cudaGraph_t>(made);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  StreamState* s = stream_state(stream);
  if (!s || !event) return result(cudaErrorInvalidResourceHandle);
  if (s->capture || state(event)->capture) return wait_captured(*s, *state(event));
  scheduler().wait(*s, state(event));
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  StreamState* s = stream_state(stream);
  if (!s || !event) return result(cudaErrorInvalidResourceHandle);
  SharedEvent& e = state(event);
  if (s->capture && !s->capture->valid) return result(cudaErrorStreamCaptureInvalidated);
  if (flags == cudaEventRecordExternal) {
    if (!s->capture) return result(cudaErrorInvalidValue);
    e->capture = nullptr;
    return add_node(*s, {.after = {}, .touched = {}, .what = {}, .counts = false, .run = {}, .record = e});
  }
  e->capture = s->capture;
  e->captured_after = s->after;
  if (!s->capture) scheduler().record(*s, e);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  const auto* g = known<Graph>(graph);
  if (!g || nodes) return result(cudaErrorInvalidValue);  // only counted
  *count = static_cast<std::size_t>(std::count_if(
      g->nodes->begin(), g->nodes->end(), [](const GraphNode& node) { return node.run || node.record; }));
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return destroy<Graph>(graph);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  const auto* g = known<Graph>(graph);
  if (!g || flags != 0) return result(cudaErrorInvalidValue);
  auto* made = new Exec(*g);
  handles().insert(made);
  *exec = reinterpret_cast<cudaGraphExec_t>(made);
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  const StreamState* s = stream_state(stream);
  return result(known<Exec>(exec) && s && !s->capture ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  StreamState* s = stream_state(stream);
  auto* e = known<Exec>(exec);
  if (!e || !s) return result(cudaErrorInvalidValue);
  if (s->capture) return spoil(*s->capture, cudaErrorStreamCaptureUnsupported);  // no graphs in graphs here
  e->launch(*s);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return destroy<Exec>(exec);
}
}
