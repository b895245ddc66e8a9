// Streams and events of the stand-in: queues of work, run by a scheduler that tests control.
#pragma once

#include <cuda_runtime.h>
#include <standin/standin.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "hazards.h"
#include "memory.h"

namespace standin {

struct StreamState;
struct CaptureState;

/// An event: records are numbered; a wait is for the number that was latest when it was queued.
struct EventState {
  std::uint64_t queued = 0, reached = 0;
  std::chrono::steady_clock::time_point time{};
  Clock clock;  ///< what is done when the latest record is reached
  std::deque<std::pair<std::uint64_t, StreamState*>> records;  ///< not reached yet, and in which queue
  // Where the latest record was made in a capture:
  std::shared_ptr<CaptureState> capture = nullptr;
  std::vector<std::size_t> captured_after;  ///< the nodes that it stands for
};
using SharedEvent = std::shared_ptr<EventState>;

/// One entry of a stream's queue: work, or a wait for a record, or a record.
struct Work {
  std::function<void()> run;  ///< may be empty
  SharedEvent record = nullptr;
  SharedEvent wait = nullptr;
  std::uint64_t ticket = 0;  ///< of `record` or `wait`
};

/// What the launches of one op may touch.
struct Operands {
  std::vector<Touched> ranges;
  std::string name;
};

struct StreamState {
  int number = 0;  ///< for the hazard checker
  std::deque<Work> queue;
  bool busy = false;  ///< its thread runs the head
  std::optional<Operands> operands;
  std::jthread thread{};  ///< of schedule `threads`
  // While it takes part in a capture:
  std::shared_ptr<CaptureState> capture = nullptr;
  std::size_t chain = 0;
  std::vector<std::size_t> after;  ///< the nodes that its next one follows
};

/// All streams of the one device. Calls come from the host thread that drives it.
class Scheduler {
 public:
  /// Waits for all streams first.
  void configure(StandinSchedule schedule, std::uint32_t seed);

  StreamState* create_stream();
  void destroy_stream(StreamState* stream);  ///< its work has run
  bool owns(const StreamState* stream) const { return streams_.contains(const_cast<StreamState*>(stream)); }
  const std::vector<StreamState*>& streams() const { return order_; }

  void push(StreamState& stream, std::function<void()> work);
  void record(StreamState& stream, const SharedEvent& event);
  void wait(StreamState& stream, const SharedEvent& event);
  bool reached(const EventState& event);
  /// Run what the host waits for; false: it can never come.
  [[nodiscard]] bool drain(StreamState& stream);
  [[nodiscard]] bool drain_all();
  [[nodiscard]] bool reach(const SharedEvent& event, std::uint64_t ticket);

  std::int64_t queued() const { return queued_; }
  std::int64_t run() const { return run_; }

 private:
  void enqueue(StreamState& stream, Work work);
  static bool ready(const StreamState& stream);
  bool step(StreamState& stream);  ///< false: its head waits, or it is empty
  void finish(StreamState& stream);
  bool step_random();
  bool step_towards(SharedEvent event, std::uint64_t ticket);
  bool step_towards_end(StreamState& stream);
  template <class Done, class Step>
  bool run_until(std::unique_lock<std::mutex>& lock, const Done& done, const Step& step);
  void progress();
  void start_thread(StreamState& stream);
  void serve(const std::stop_token& stop, StreamState& stream, std::uint32_t seed);

  std::mutex mutex_;  // of everything, for schedule `threads`; work runs without it there
  std::condition_variable_any changed_;
  StandinSchedule schedule_ = standin_at_once;
  std::mt19937 random_{1};
  std::unordered_set<StreamState*> streams_;
  std::vector<StreamState*> order_;  // by creation
  std::int64_t queued_ = 0, run_ = 0;
  std::optional<OpenMemory> open_;  // while work runs on the host's thread
};

Scheduler& scheduler();
/// Of the host thread that drives the device.
HazardChecker& hazards();

/// Queues library work (cuBLAS, cuDNN) on a stream; `what` names it in faults. `touched`: device ranges.
cudaError_t queue_library_call(cudaStream_t stream, const char* what, std::vector<Touched> touched,
                               std::function<void()> work);

}  // namespace standin
