// Streams and events of the stand-in: queues of work, run by a scheduler that tests control.
#pragma once

#include <cuda_runtime.h>
#include <standin/standin.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <unordered_set>
#include <vector>

namespace standin {

/// An event: records are numbered; a wait is for the number that was latest when it was queued.
struct EventState {
  std::uint64_t queued = 0, reached = 0;
  std::chrono::steady_clock::time_point time{};
};

/// One entry of a stream's queue: work, or a wait for a record, or a record.
struct Work {
  std::function<void()> run;  ///< may be empty
  EventState* record = nullptr;
  EventState* wait = nullptr;
  std::uint64_t ticket = 0;  ///< of `record` or `wait`
};

struct StreamState {
  std::deque<Work> queue;
};

/// All streams of the one device. Calls come from the host thread that drives it.
class Scheduler {
 public:
  void configure(StandinSchedule schedule, std::uint32_t seed);

  StreamState* create_stream();
  void destroy_stream(StreamState* stream);
  bool owns(const StreamState* stream) const { return streams_.contains(const_cast<StreamState*>(stream)); }

  void push(StreamState& stream, Work work);
  void record(StreamState& stream, EventState& event);
  void wait(StreamState& stream, EventState& event);
  /// Runs what the host waits for; false: it can never come.
  [[nodiscard]] bool drain(StreamState& stream);
  [[nodiscard]] bool drain_all();
  [[nodiscard]] bool reach(EventState& event, std::uint64_t ticket);

 private:
  bool step(StreamState& stream);  ///< false: its head waits, or it is empty
  bool run_until(const std::function<bool()>& done, StreamState* first);
  void progress();

  StandinSchedule schedule_ = standin_at_once;
  std::mt19937 random_{1};
  std::unordered_set<StreamState*> streams_;
  std::vector<StreamState*> order_;  // by creation
};

Scheduler& scheduler();

/// Queues library work (cuBLAS, cuDNN) on a stream; `what` names it in faults. Operands: device ranges it
/// touches.
struct Touched {
  const void* address;
  std::int64_t bytes;
  bool written;
};
cudaError_t queue_library_call(cudaStream_t stream, const char* what, std::vector<Touched> touched,
                               std::function<void()> work);

}  // namespace standin
