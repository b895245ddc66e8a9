// Runs a Program: iterations flow through the device's three streams, at most two in flight.
#pragma once

#include <swapadvisor/core/capture.h>
#include <swapadvisor/core/device.h>
#include <swapadvisor/core/graph.h>
#include <swapadvisor/core/host_store.h>
#include <swapadvisor/core/program.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace swapadvisor {

/// A prepared kernel and, per input, where in its buffer the operand begins (views).
struct BoundKernel {
  const Kernel* kernel = nullptr;
  std::vector<std::int64_t> input_offsets;  ///< empty: all 0
};

/// One bound kernel per node, in order. The kernels must outlive the result.
std::vector<BoundKernel> bind_kernels(const Graph& graph, const std::vector<std::unique_ptr<Kernel>>& kernels);

/// Data for one input buffer of one iteration.
struct InputData {
  int buffer = 0;  ///< index in the Program's graph
  std::span<const std::byte> bytes;
};

/// What an iteration left in the host store.
struct IterationResult {
  std::int64_t iteration = 0;       ///< counted from 0 since the executor was made
  double compute_end_seconds = 0;   ///< device clock at the end of its last compute instruction
  std::vector<std::vector<std::byte>> outputs;  ///< per buffer of the graph; empty for other kinds
};

/// How an executor runs its program.
struct ExecutorOptions {
  /// Prefix of the host slots of inputs, outputs and temporaries: programs that share a host store need different ones.
  std::string slot_prefix;
  /// Per instruction, arena ranges (offset, bytes) to overwrite with 0xFF after it: poison for freed memory, in tests.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> poison;
  std::int64_t trace_iterations = 0;  ///< keep the InstructionSpans of that many first iterations
  /// Iterations from this one on are captured and launched whole, where the device can (`Capture`), one after
  /// the other with a barrier between them. −1: none. Libraries load kernels at their first call, which
  /// cannot be captured: from 1 on is safe.
  std::int64_t capture_from = -1;
  /// Told in one sentence why iterations cannot be captured; they then run from the streams. May be empty.
  std::function<void(const std::string&)> on_no_capture{};
};

/// Called after each op of an inspected iteration, with all streams idle.
using OpVisitor = std::function<void(std::int32_t op, const KernelArgs& args)>;

/// Persistent data lives in the host store between `drain` and the next `submit`, so several executors can take turns
/// on one device and one host store. Not thread-safe: one host thread drives it.
class Executor {
 public:
  /// Reserves every host slot now (persistent buffers under their own names). The arena is taken at the first
  /// `submit`. `program`, `kernels`' targets, `device` and `host` must outlive the executor. Throws `Error` when the
  /// host store refuses. A program that is not valid is the caller's bug: verify plans from files first.
  Executor(const Program& program, std::vector<BoundKernel> kernels, Device& device, HostStore& host,
           ExecutorOptions options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Queues one iteration. Every input buffer needs data of its size; it is copied before the call returns. At most two
  /// iterations may be submitted and not taken.
  void submit(std::span<const InputData> inputs);
  /// Waits for the oldest iteration not taken yet and returns its outputs. Rethrows what a kernel threw.
  IterationResult take();
  /// Iterations submitted and not taken.
  int in_flight() const { return static_cast<int>(submitted_ - taken_); }
  /// Waits for everything and writes dirty resident buffers back to the host store. Outputs not taken stay available.
  void drain();
  /// Runs one iteration instruction by instruction (no overlap), calling `visit` after each op. Nothing may be in
  /// flight.
  IterationResult inspect(std::span<const InputData> inputs, const OpVisitor& visit);

  /// Spans of the iterations taken so far, when tracing.
  const std::vector<InstructionSpan>& spans() const { return spans_; }
  /// Iterations launched as captured work.
  std::int64_t captured_iterations() const { return captured_iterations_; }

 private:
  struct Run;
  using Events = std::vector<std::unique_ptr<Event>>;

  void reserve_slots();
  void load();
  void bind_addresses();
  void fill_inputs(std::span<const InputData> inputs, int parity);
  void enqueue_all(int parity);
  void enqueue(std::int32_t instruction, int parity);
  void queue_work(std::int32_t instruction, int parity);
  void finish(std::int64_t iteration);
  bool prepare_captured(int parity);
  void capture_iteration(Capture& capture, int parity);
  void queue_captured(Capture& capture, Events& done, std::int32_t instruction, int parity);
  void launch_captured(int parity);
  std::byte* slot(std::int32_t buffer, int parity) const;

  const Program& program_;
  std::vector<BoundKernel> kernels_;
  Device& device_;
  HostStore& host_;
  ExecutorOptions options_;
  std::byte* base_ = nullptr;
  std::vector<std::vector<std::byte*>> slots_;  ///< per buffer: none, one, or one per parity
  std::vector<Run> runs_;                       ///< per instruction; empty ones for copies
  Events done_[2], started_[2];
  // An input or output has two host slots by turns, so that the host fills one while the device reads the
  // other: one captured iteration for each.
  std::unique_ptr<CapturedWork> captured_[2];
  std::byte* captured_base_ = nullptr;    // where the arena was
  std::unique_ptr<Event> finished_[2];    // of captured iterations
  bool is_captured_[2] = {false, false};  // the latest iteration of each parity
  bool is_timed_[2] = {false, false};     // whether `captured_` records times
  bool capture_failed_ = false;
  std::int64_t captured_iterations_ = 0;
  std::int32_t last_on_stream_[stream_count] = {-1, -1, -1};
  bool loaded_ = false;
  std::int64_t submitted_ = 0, taken_ = 0;
  std::int64_t first_ = 0;  ///< first iteration since the last load: it has no previous one
  std::vector<InstructionSpan> spans_;
};

}  // namespace swapadvisor
