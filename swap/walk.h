// The walk: one pass over an op order that decides, with exact addresses, what is on the device when.
//
// Before each op, its missing operands get room: the cheapest window of the arena by the policy, whose
// resident buffers are evicted. Decisions are made in op order, yet listed where they can start earliest
// ("back-dated"): an eviction's swap-out right after the value's last write, a swap-in as soon as its range
// is free and its host copy written, swap-ins among themselves in order of need. Prefetch follows from that
// list order and `WaitInference`. Eviction by furthest next use follows Belady (1966); choosing among windows
// of contiguous addresses, weighing bytes and swap-outs already paid for, is ours.
#pragma once

#include <swapadvisor/swap/arena_map.h>
#include <swapadvisor/swap/copy_timeline.h>
#include <swapadvisor/swap/instruction_list.h>
#include <swapadvisor/swap/op_table.h>
#include <swapadvisor/swap/order_uses.h>

#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

struct WalkPolicy {
  /// belady: weighs distance to the next use, bytes to copy and the wait; distance: nothing but the first;
  /// lru: what was used last the longest ago.
  enum class Eviction : std::uint8_t { belady, distance, lru };

  Eviction eviction = Eviction::belady;
  /// Copies are listed at the op that asks for them and wait for the op before it: no prefetch, no early
  /// swap-out.
  bool on_demand = false;
  /// Copies take the first pause of their stream that is long enough and make no copy planned before later.
  /// Else swap-outs start as soon as the value is written, before those of later values, and swap-ins one
  /// after the other.
  bool fit_copies = false;
  /// The part of the link's speed that copies are expected to get: less than 1 where both directions share
  /// it.
  double link_share = 1;
  /// What the host store holds already needs no swap-out; else only inputs and outputs go without.
  bool clean_eviction = true;
  /// What a second of estimated stall weighs against a second of link time spent on evicting what is needed
  /// again within one iteration.
  double stall_weight = 30;
  /// Swap-ins prefer room that is free so much before they have to start, or a quarter of that; as a share of
  /// the ideal iteration. Copies that come early leave the link to those that cannot.
  double lead = 0;
  /// The same for room that others have to leave: being free any later than that counts as a stall.
  double evicting_lead = 0;
  /// Small buffers, smallest first, live at fixed addresses: each no larger than `fixed_largest`, together no
  /// more than `fixed_fraction` of the memory. Swapping them gains nothing and cuts the arena to pieces.
  double fixed_fraction = 0.02;
  double fixed_largest = 2e-4;
};

/// What a rule asks for between two uses of a buffer. Buffers at fixed addresses stay where they are all the
/// same.
struct ForcedSwap {
  static constexpr std::int32_t none = -1;

  std::int32_t buffer = 0;
  /// Evicted after the run of this step, which uses it; `none` for what is in the host store as the iteration
  /// begins.
  std::int32_t after = none;
  std::int32_t out = none;     ///< the swap-out starts when this step and its last write are done
  std::int32_t out_by = none;  ///< the run of this step, behind `after`, waits for the swap-out
  std::int32_t use = none;     ///< the next use, which reads it; `none`: in the next iteration
  /// The swap-in starts as the run of this step does, when there is room for it then; after `after`, at most
  /// `use`.
  std::int32_t fetch = none;
  std::int32_t in_by = none;  ///< the run of this step, not before `fetch`, waits for the swap-in
};

struct WalkRequest {
  /// The op runs: every op once, dependencies kept; recomputable ops may run again where their inputs are as
  /// they were.
  std::span<const std::int32_t> order;
  std::span<const Resident> start;  ///< on the device when the iteration begins
  /// End with what `start` says: swap in again what was evicted, swap out what is dirty besides. Without it
  /// the walk ends with whatever is resident then, and is no complete iteration.
  bool close = true;
  WalkPolicy policy{};
  std::span<const float> bias{};  ///< by buffer: so many times as dear is its eviction; empty: 1 for all
  std::span<const ForcedSwap> forced{};  ///< swaps to make whatever the policy says, in any order
};

/// Walks one graph on one device, again and again; keeps its scratch memory. One per thread.
class Walker {
 public:
  /// Uses the link fields of `device` and its memory limit.
  Walker(const OpTable& table, const DeviceSpec& device);

  /// Throws `Error` when one op alone exceeds the limit; never for another reason.
  void walk(const WalkRequest& request);

  /// Drops what was derived from the last order, though the next one be the same.
  void forget_order() { order_.clear(); }

  /// The instruction list of the last closed walk.
  const InstructionList& instructions() const { return list_; }
  /// What has to be on the device at iteration boundaries, by address.
  std::span<const Resident> residents() const { return residents_; }
  /// Persistent buffers, by address, that were on the device when the last op was done (before any closing).
  std::span<const Resident> residents_at_last_op() const { return at_last_op_; }
  /// Of `start`, those that stayed at their address all through, before any closing; `dirty` as it turned
  /// out.
  std::span<const Resident> residents_worth_keeping() const { return worth_keeping_; }
  /// Bytes that copies of `forced` swaps have moved: at most one swap-out and one swap-in of each.
  std::int64_t forced_bytes() const { return forced_bytes_; }
  /// Where the room behind the buffers at fixed addresses begins, in the last walk.
  std::int64_t fixed_bytes() const { return fixed_bytes_; }
  bool at_fixed_address(std::int32_t buffer) const { return fixed(buffer); }
  /// Estimated seconds of the iteration: a rough guide, use the simulator.
  double estimated_seconds() const { return run_end_.empty() ? 0 : run_end_.back(); }

 private:
  struct State {
    std::int64_t offset = -1;  // -1: not on the device
    std::int32_t segment = 0;  // where that was in the arena when looked for last
    std::int32_t last_access = -1, last_write = -1;
    std::int32_t swapped_in = -1;   // step after which its last swap-in is listed
    std::int32_t swapped_out = -1;  // the same of its last swap-out
    double swapped_out_seconds = 0;
    double ready_seconds = 0;
    bool dirty = false;            // the host copy, if any, is not the device's value
    bool home = false;             // at the address of `start` without interruption
    bool forced = false;           // its next swap-in is asked for
    std::int32_t not_before = -1;  // the swap-in waits for the run of this step
    std::int32_t in_by = -1;       // the run of this step waits for it
  };
  struct Copy {
    InstructionKind kind;
    std::int32_t buffer;
    std::int64_t offset;
    std::int32_t step;                          // listed after the run of this step
    std::int32_t awaits = -1, awaited_by = -1;  // steps of runs
  };
  struct Room {
    std::int64_t offset = 0;
    std::int32_t since = -1;
    double since_seconds = 0;
    std::size_t segment = 0;  // where it begins, if nothing has changed since
  };

  /// The search for a window, and what it has found so far.
  struct WindowSearch {
    std::int64_t bytes;
    double now, iteration;  // ideal seconds: of the step, of an iteration
    double no_wait;         // nobody waits for what is free by then
    ArenaWindow best{};
  };
  struct ChunkCursor {
    std::size_t rank, begin;  // `begin`: index of its first segment among those looked at
  };

  static constexpr std::size_t most_scanned = 512;    // segments of an arena that are all looked at
  static constexpr std::size_t most_looked_at = 512;  // of a larger one, for one request
  static constexpr double pinned_cost = std::numeric_limits<double>::infinity();

  void prepare(const WalkRequest& request);
  void choose_fixed();
  void load_start();
  void run_step(std::int32_t step);
  void pack(std::int32_t step);
  void finish_run(std::int32_t step, double start);
  void swap_in(std::int32_t buffer, const Room& room, std::int32_t step);
  void swap_out(std::int32_t buffer, std::int32_t step);
  double out_end(const ArenaSegment& segment) const;
  ArenaMap::Position evict(ArenaMap::Position segment, std::int32_t step);
  bool copied_when_clean(std::int32_t buffer) const;
  ArenaMap::Position free_segment(ArenaMap::Position segment, std::int32_t since, double since_seconds);
  bool find_room(std::int64_t bytes, std::int32_t step, bool copy_in, Room& room);
  Room clear_range(std::int64_t offset, std::int64_t bytes, std::int32_t step, std::size_t guess = 0);
  std::size_t price_segments(const WindowSearch& search, std::size_t first_rank, std::size_t last_rank);
  ArenaWindow cheapest_window(std::int64_t bytes, std::int32_t step, bool copy_in);
  ArenaWindow cheapest_of_many(WindowSearch& search);
  void bound_chunks(const WindowSearch& search);
  std::size_t cheapest_window_in(WindowSearch& search, std::size_t first_rank, std::size_t last_rank,
                                 std::size_t starts);
  ArenaMap::Position position(ChunkCursor& cursor, std::size_t index) const;
  ArenaWindow least_recent_window(std::int64_t bytes);
  ArenaWindow least_recent_window_in(std::size_t first_rank, std::size_t last_rank, std::int64_t bytes);
  ArenaWindow free_window(std::int64_t bytes, double free_by);
  ArenaWindow free_window_in(std::size_t first_rank, std::size_t last_rank, std::int64_t bytes,
                             double free_by, ArenaWindow best, std::size_t& looked_at) const;
  double free_seconds(const ArenaWindow& window, double enough) const;
  std::int64_t align_in_window(const ArenaWindow& window, std::int64_t bytes) const;
  std::size_t place(std::int32_t buffer, const Room& room);  // returns the segment
  std::size_t segment_of(State& state) const;
  void touch_segment(std::int32_t buffer, std::int32_t next, double since_seconds);
  std::int64_t op_need(std::int32_t step) const;
  void check_needs();
  void load_forced(std::span<const ForcedSwap> forced);
  void force_out(const ForcedSwap& swap);
  void force_outs(std::int32_t step);
  void fetch(const ForcedSwap& swap, std::int32_t step);
  void fetches(std::int32_t step);
  void wait_for_copies(std::int32_t step);
  void close(const WalkRequest& request);
  void collect_at_last_op();
  void build_list();

  State& state(std::int32_t buffer) { return states_[static_cast<std::size_t>(buffer)]; }
  const State& state(std::int32_t buffer) const { return states_[static_cast<std::size_t>(buffer)]; }
  bool fixed(std::int32_t buffer) const { return fixed_[static_cast<std::size_t>(buffer)] >= 0; }
  std::int32_t op_at(std::int32_t step) const { return order_[static_cast<std::size_t>(step)]; }
  double end_of(std::int32_t step) const { return step < 0 ? 0 : run_end_[static_cast<std::size_t>(step)]; }
  double copy_seconds(std::int64_t bytes, double bytes_per_second) const {
    return latency_ + static_cast<double>(bytes) / bytes_per_second;
  }

  const OpTable* table_;
  std::int64_t limit_;
  double link_h2d_, link_d2h_, latency_;
  double h2d_ = 0, d2h_ = 0;  // as expected
  WalkPolicy policy_;
  std::span<const float> bias_;  // of the walk in progress

  std::vector<std::int32_t> order_;
  OrderUses uses_;
  std::vector<double> ideal_start_;  // by step, wrapping once: 2n + 1 entries

  std::vector<std::int64_t> fixed_;  // address, or -1
  std::vector<std::int32_t> fixed_candidates_;
  std::int64_t fixed_bytes_ = 0;
  ArenaMap arena_;
  std::vector<State> states_;
  std::vector<double> run_end_;
  std::vector<double> window_costs_, window_sizes_;  // of the segments looked at
  std::vector<double> chunk_bounds_, chunk_prices_, bytes_before_, cost_before_;
  std::vector<std::size_t> chunk_spans_;
  std::vector<ArenaMap::Position> latest_;
  std::size_t rover_ = 0;  // chunk: where to look next in an arena of very many pieces
  std::vector<Copy> copies_;
  std::vector<std::int64_t> run_offsets_;
  std::vector<std::int32_t> run_offsets_begin_;
  std::int64_t workspace_offset_ = 0;
  std::int32_t in_step_ = -1;  // the last swap-in is listed after this step
  double in_ready_ = 0, out_ready_ = 0;
  CopyTimeline ins_, outs_;  // where copies are fitted in

  std::vector<ForcedSwap> forced_outs_, fetches_;  // by step of eviction, of fetching
  std::size_t next_out_ = 0, next_fetch_ = 0;
  std::int64_t forced_bytes_ = 0;
  double awaited_seconds_ = 0;             // the next run does not start before
  std::vector<std::int32_t> run_entries_;  // by step
  std::vector<std::int32_t> awaited_;      // copies that a later run waits for

  InstructionList list_;
  std::vector<std::int32_t> counts_, sorted_;
  std::vector<Resident> residents_, at_last_op_, worth_keeping_;
};

inline ArenaMap::Position Walker::free_segment(ArenaMap::Position segment, std::int32_t since,
                                               double since_seconds) {
  const std::int32_t buffer = arena_[segment].buffer;
  state(buffer).offset = -1;
  state(buffer).home = false;
  return arena_.release(segment, since, since_seconds, in_step_);
}

inline std::size_t Walker::segment_of(State& state) const {
  const std::size_t segment = arena_.find(state.offset, static_cast<std::size_t>(state.segment));
  state.segment = static_cast<std::int32_t>(segment);
  return segment;
}

}  // namespace swapadvisor
