// The stand-in's stream capture refuses what CUDA refuses.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

class CaptureStandin : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 4096;

  CaptureStandin() : backend_(open_standin()), device_(backend_.device->arena(bytes)) {
    for (cudaStream_t* stream : {&a_, &b_})
      EXPECT_EQ(STANDIN(cudaStreamCreateWithFlags)(stream, cudaStreamNonBlocking), cudaSuccess);
    for (cudaEvent_t* event : {&fork_, &join_})
      EXPECT_EQ(STANDIN(cudaEventCreateWithFlags)(event, cudaEventDefault), cudaSuccess);
    host_ = backend_.device->host_alloc(bytes);
  }
  ~CaptureStandin() override {
    for (cudaEvent_t event : {fork_, join_}) STANDIN(cudaEventDestroy)(event);
    for (cudaStream_t stream : {a_, b_}) STANDIN(cudaStreamDestroy)(stream);
  }

  static cudaError_t begin(cudaStream_t stream) {
    return STANDIN(cudaStreamBeginCapture)(stream, cudaStreamCaptureModeThreadLocal);
  }
  cudaError_t end(cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = STANDIN(cudaStreamEndCapture)(stream, &graph);
    EXPECT_EQ(graph != nullptr, error == cudaSuccess);
    if (graph) {
      EXPECT_EQ(STANDIN(cudaGraphDestroy)(graph), cudaSuccess);
    }
    return error;
  }
  static cudaError_t record(cudaEvent_t event, cudaStream_t stream) {
    return STANDIN(cudaEventRecord)(event, stream);
  }
  static cudaError_t wait(cudaStream_t stream, cudaEvent_t event) {
    return STANDIN(cudaStreamWaitEvent)(stream, event, 0);
  }
  cudaError_t fill(cudaStream_t stream, int byte = 1) {
    return STANDIN(cudaMemsetAsync)(device_, byte, 256, stream);
  }
  /// Whether the streams work as if nothing had been captured.
  void expect_usable() {
    for (cudaStream_t stream : {a_, b_}) {
      EXPECT_EQ(fill(stream), cudaSuccess);
      EXPECT_EQ(STANDIN(cudaStreamSynchronize)(stream), cudaSuccess);
    }
  }

  Backend backend_;
  std::byte* device_;
  std::unique_ptr<HostMemory> host_;
  cudaStream_t a_ = nullptr, b_ = nullptr;
  cudaEvent_t fork_ = nullptr, join_ = nullptr;
};

TEST_F(CaptureStandin, AStreamThatIsNotJoinedMakesTheEndFail) {
  EXPECT_EQ(begin(a_), cudaSuccess);
  EXPECT_EQ(record(fork_, a_), cudaSuccess);
  EXPECT_EQ(wait(b_, fork_), cudaSuccess);
  EXPECT_EQ(fill(b_), cudaSuccess);
  EXPECT_EQ(record(join_, b_), cudaSuccess);
  EXPECT_EQ(wait(a_, join_), cudaSuccess);
  EXPECT_EQ(fill(b_), cudaSuccess) << "after the join";
  EXPECT_EQ(end(a_), cudaErrorStreamCaptureUnjoined);
  expect_usable();
}

TEST_F(CaptureStandin, EndsWhereItBegan) {
  EXPECT_EQ(end(a_), cudaErrorIllegalState);
  EXPECT_EQ(begin(a_), cudaSuccess);
  EXPECT_EQ(begin(a_), cudaErrorIllegalState);
  EXPECT_EQ(record(fork_, a_), cudaSuccess);
  EXPECT_EQ(wait(b_, fork_), cudaSuccess);
  EXPECT_EQ(end(b_), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(fill(a_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(wait(a_, fork_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(record(fork_, a_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end(a_), cudaErrorStreamCaptureInvalidated);
  expect_usable();
}

TEST_F(CaptureStandin, NoDependencyCrossesItsBoundary) {
  EXPECT_EQ(record(join_, b_), cudaSuccess);
  EXPECT_EQ(begin(a_), cudaSuccess);
  EXPECT_EQ(wait(a_, join_), cudaErrorStreamCaptureIsolation) << "recorded before";
  EXPECT_EQ(end(a_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(begin(a_), cudaSuccess);
  EXPECT_EQ(record(fork_, a_), cudaSuccess);
  EXPECT_EQ(end(a_), cudaSuccess);
  EXPECT_EQ(wait(b_, fork_), cudaErrorCapturedEvent);
  EXPECT_EQ(STANDIN(cudaEventSynchronize)(fork_), cudaErrorCapturedEvent);
  EXPECT_EQ(STANDIN(cudaEventQuery)(fork_), cudaErrorCapturedEvent);
  float milliseconds = 0;
  EXPECT_EQ(STANDIN(cudaEventElapsedTime)(&milliseconds, join_, fork_), cudaErrorCapturedEvent);
  EXPECT_EQ(record(fork_, b_), cudaSuccess) << "recorded again, it is an event like any other";
  EXPECT_EQ(STANDIN(cudaEventSynchronize)(fork_), cudaSuccess);
  expect_usable();
}

TEST_F(CaptureStandin, TwoCapturesDoNotMerge) {
  EXPECT_EQ(begin(a_), cudaSuccess);
  EXPECT_EQ(begin(b_), cudaSuccess);
  EXPECT_EQ(record(fork_, a_), cudaSuccess);
  EXPECT_EQ(wait(b_, fork_), cudaErrorStreamCaptureMerge);
  EXPECT_EQ(end(a_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(end(b_), cudaErrorStreamCaptureInvalidated);
  expect_usable();
}

TEST_F(CaptureStandin, TheHostNeitherWaitsNorAllocates) {
  EXPECT_EQ(record(join_, b_), cudaSuccess);
  void* address = nullptr;
  float pageable[64]{};
  const std::vector<std::function<cudaError_t()>> illegal{
      [&] { return STANDIN(cudaStreamSynchronize)(a_); },
      [&] { return STANDIN(cudaDeviceSynchronize)(); },
      [&] { return STANDIN(cudaEventSynchronize)(join_); },
      [&] { return STANDIN(cudaEventQuery)(join_); },
      [&] { return STANDIN(cudaMalloc)(&address, 256); },
      [&] { return STANDIN(cudaHostAlloc)(&address, 256, cudaHostAllocDefault); },
      [&] { return STANDIN(cudaStreamDestroy)(a_); },
      [&] {
        return STANDIN(cudaMemcpyAsync)(device_, pageable, sizeof pageable, cudaMemcpyHostToDevice, a_);
      },
      [&] {
        return STANDIN(cudaMemcpyAsync)(pageable, device_, sizeof pageable, cudaMemcpyDeviceToHost, a_);
      }};
  for (std::size_t i = 0; i < illegal.size(); ++i) {
    EXPECT_EQ(begin(a_), cudaSuccess);
    EXPECT_EQ(illegal[i](), cudaErrorStreamCaptureUnsupported) << "call " << i;
    EXPECT_EQ(fill(a_), cudaErrorStreamCaptureInvalidated) << "call " << i;
    EXPECT_EQ(end(a_), cudaErrorStreamCaptureInvalidated) << "call " << i;
  }
  EXPECT_EQ(begin(a_), cudaSuccess);
  EXPECT_EQ(STANDIN(cudaMemcpyAsync)(device_, host_->data(), 256, cudaMemcpyHostToDevice, a_), cudaSuccess);
  EXPECT_EQ(end(a_), cudaSuccess) << "pinned memory is fine";
  expect_usable();
}

TEST_F(CaptureStandin, HandlesAreChecked) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_NE(STANDIN(cudaGraphInstantiate)(&exec, nullptr, 0), cudaSuccess);
  EXPECT_NE(STANDIN(cudaGraphLaunch)(nullptr, a_), cudaSuccess);
  EXPECT_EQ(begin(a_), cudaSuccess);
  EXPECT_EQ(fill(a_), cudaSuccess);
  EXPECT_EQ(STANDIN(cudaStreamEndCapture)(a_, &graph), cudaSuccess);
  EXPECT_EQ(STANDIN(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(STANDIN(cudaGraphDestroy)(graph), cudaSuccess);
  EXPECT_NE(STANDIN(cudaGraphDestroy)(graph), cudaSuccess);
  EXPECT_EQ(STANDIN(cudaGraphUpload)(exec, a_), cudaSuccess);
  EXPECT_EQ(STANDIN(cudaGraphLaunch)(exec, b_), cudaSuccess) << "it needs its graph no more";
  EXPECT_EQ(begin(a_), cudaSuccess);
  EXPECT_EQ(STANDIN(cudaGraphLaunch)(exec, a_), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(a_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(STANDIN(cudaGraphExecDestroy)(exec), cudaSuccess);
  EXPECT_NE(STANDIN(cudaGraphLaunch)(exec, b_), cudaSuccess);
  expect_usable();
}

}  // namespace
}  // namespace swapadvisor::test
