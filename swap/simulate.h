// The simulator: how long an iteration of a Program takes on a device. It is the fitness of every search.
//
// Three streams (compute, in, out) each run their instructions in list order, iteration after iteration with
// no barrier. An instruction starts when the previous one of its stream and everything it waits for are done.
// A copy takes its latency, during which it moves no bytes, then its bytes at the link's speed. While both
// directions move bytes and h2d + d2h exceeds the duplex cap, each runs at duplex / (h2d + d2h) of its speed;
// while any copy moves bytes, ops run at 1 / slowdown of their speed. Rates are constant between events, so
// the times are exact.
#pragma once

#include <swapadvisor/core/program.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace swapadvisor {

/// What the simulator needs of a Program, as flat arrays that a search refills without allocating.
/// Call `add` for each instruction in list order, and `wait_for` / `wait_for_previous` for the one added
/// last.
struct FlatProgram {
  std::vector<StreamKind> stream;
  std::vector<double> work;             ///< compute: seconds; copies: bytes
  std::vector<std::int32_t> waits;      ///< all `wait` lists, one after the other
  std::vector<std::int32_t> waits_end;  ///< per instruction: end of its part of `waits`
  std::vector<std::int32_t> waits_previous;
  std::vector<std::int32_t> waits_previous_end;

  std::int32_t size() const { return static_cast<std::int32_t>(stream.size()); }
  /// Removes all instructions, keeps the memory.
  void clear();
  /// Returns the index of the new instruction. `amount`: seconds for compute, bytes for copies.
  std::int32_t add(StreamKind kind, double amount);
  /// `instruction`: an earlier one of the same iteration.
  void wait_for(std::int32_t instruction) { waits.push_back(instruction), waits_end.back() += 1; }
  /// `instruction`: any one of the previous iteration, added already or later.
  void wait_for_previous(std::int32_t instruction) {
    waits_previous.push_back(instruction), waits_previous_end.back() += 1;
  }
};

/// The same, one queue per stream: for who knows counts instead of instruction indexes.
struct StreamQueues {
  /// `[s]`: instructions of stream s that must be done, counted from the start of the same iteration; at most
  /// 0 when it is one of the previous iteration, so that it holds by itself in the first.
  using Counts = std::array<std::int32_t, stream_count>;
  static constexpr std::int32_t no_need = std::numeric_limits<std::int32_t>::min() / 2;

  /// An instruction in its queue.
  struct Entry {
    double work = 0;  ///< compute: seconds; copies: bytes
    Counts need{no_need, no_need, no_need};
    std::int32_t instruction = 0;
  };

  std::array<std::vector<Entry>, stream_count> entries;

  void clear() {
    for (auto& queue : entries) queue.clear();
  }
  std::vector<Entry>& of(StreamKind kind) { return entries[static_cast<std::size_t>(kind)]; }
};

/// Start and end of every instruction, in seconds from the start of iteration 0; copies start with their
/// latency.
struct Timeline {
  std::int32_t iterations = 0;
  std::int32_t instructions = 0;
  std::vector<double> start;  ///< [iteration * instructions + instruction]
  std::vector<double> end;
};

/// Simulates FlatPrograms on one device. Keeps its scratch memory: after the first call, simulating programs
/// that are not larger allocates nothing. One Simulator per thread; different Simulators share nothing.
class Simulator {
 public:
  /// Iterations simulated; the steady state is measured between the ends of the 3rd and the 7th.
  static constexpr std::int32_t iterations = 8;

  /// Uses the link fields of `device`: positive bandwidths (a duplex cap of 0 means none), latency, slowdown.
  explicit Simulator(const DeviceSpec& device);

  /// (C_7 − C_3) / 4 with C_k the end of the last compute instruction of the k-th iteration, k from 1; never
  /// below the compute seconds of one iteration. Once an iteration ends in the state in which the one before
  /// ended, all later ones take as long, and the rest is not simulated: the result is the same but for
  /// rounding.
  double iteration_seconds(const FlatProgram& program);
  double iteration_seconds(const StreamQueues& queues);
  /// An estimate for searches: C_2 − C_1. Most programs are close to their steady state by then.
  double quick_iteration_seconds(const StreamQueues& queues);

  /// Fills `timeline` with `count` whole iterations.
  void timeline(const FlatProgram& program, std::int32_t count, Timeline& timeline);

 private:
  enum class Phase : std::uint8_t { idle, latency, active };

  // Waits reduce to counts: stream order means "instruction r of a stream is done" is "its done count exceeds
  // r".
  using Counts = StreamQueues::Counts;
  using Entry = StreamQueues::Entry;

  struct Stream {
    const Entry* queue = nullptr;
    std::int32_t length = 0;  // of one iteration
    std::int32_t iteration = 0;
    std::int32_t position = 0;  // within the iteration
    Counts before{};            // instructions of each stream in the iterations before this one
    Phase phase = Phase::idle;
    double rate = 0;       // of work per second since `since`
    double remaining = 0;  // work left at `since`
    double since = 0;
    double end = 0;  // of the phase
  };

  // All that decides what happens next, relative to the end of an iteration's last compute instruction: the
  // rates follow from the phases.
  struct Snapshot {
    Counts lead{};  // done beyond the iterations that compute has done
    std::array<Phase, stream_count> phase{};
    std::array<double, stream_count> left{};  // seconds at full rate
  };

  void load(const FlatProgram& program);
  void load(const StreamQueues& queues);
  double measure(std::int32_t first_measured, std::int32_t last_measured);
  void start_ready(std::int32_t count, Timeline* timeline);
  void begin_work(Stream& stream);
  void set_rate(Stream& stream, double rate);
  void update_rates();
  void finish(std::size_t s, Timeline* timeline);
  bool ready(const Stream& stream) const;
  bool step(std::int32_t count, Timeline* timeline);
  Snapshot snapshot() const;
  bool repeats(const Snapshot& before, const Snapshot& after) const;

  Stream& at(StreamKind kind) { return streams_[static_cast<std::size_t>(kind)]; }

  double h2d_, d2h_, shared_factor_, latency_, slowdown_;
  std::array<Stream, stream_count> streams_;
  Counts done_{};                   // over all iterations
  StreamQueues queues_;             // of a FlatProgram
  std::vector<std::int32_t> rank_;  // of each instruction within its stream
  bool rates_stale_ = false;
  double now_ = 0;
};

/// Fills `flat` from `program`, whose indices are in range (`check_indices` of program_check.h).
void flatten(const Program& program, FlatProgram& flat);

/// Everything of `Prediction` but `fallback_bytes`, which is the planner's to count. `program` has indices in
/// range; its offsets and waits need not be right. Pure: any number of threads may call it. Throws `Error`
/// when the device's bandwidths are not positive.
Prediction simulate(const Program& program);

/// The first `iterations` iterations, for traces.
Timeline simulate_timeline(const Program& program, std::int32_t iterations);

/// Highest address that residents, copies, operands and workspaces use.
std::int64_t peak_bytes(const Program& program);

}  // namespace swapadvisor
