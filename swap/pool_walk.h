// The paper's swap planner: one schedule and one size-class pool in, swaps out (SwapAdvisor, ASPLOS 2020,
// section 5).
//
// A needed buffer takes a free object of its class; if there is none, the resident buffer of that class whose
// next use lies furthest ahead (Belady 1966) is the victim. A victim's swap-out is listed right after its
// last use, a swap-in as soon as its object is free and in order of need. The first pass starts with no
// parameter resident; the second starts and ends with what the first ends with.
#pragma once

#include <swapadvisor/memory/size_class_pool.h>
#include <swapadvisor/swap/instruction_list.h>
#include <swapadvisor/swap/op_table.h>
#include <swapadvisor/swap/order_uses.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace swapadvisor {

struct PoolWalkOptions {
  /// A victim whose host copy is right needs no swap-out. The paper's planner copies every victim but inputs.
  bool clean_eviction = false;
};

/// Walks one graph, again and again; once it has seen the largest pool and order, walking allocates nothing.
/// One per thread.
class PoolWalker {
 public:
  /// Both must outlive it.
  PoolWalker(const OpTable& table, const PoolDemand& demand, const PoolWalkOptions& options = {});

  /// The schedule of the walks that follow: every op once, dependencies kept.
  void set_order(std::span<const std::int32_t> order);

  /// Both passes. `pool` must hold every op (`holds_every_op`).
  /// `listing`: keep what `instructions` and `run_objects` need.
  void walk(const SizeClassPool& pool, bool listing = false);

  /// Bytes that `queues` adds to each copy: latency as bytes at full speed, so that a simulator without
  /// latency has half as many events.
  void set_overhead(double in_bytes, double out_bytes) {
    in_overhead_ = in_bytes;
    out_overhead_ = out_bytes;
  }

  /// The last walk for the simulator, with exactly the waits that correctness asks for.
  const StreamQueues& queues() const { return queues_; }
  /// The same as an instruction list, of a walk with `listing`. Valid until the next walk.
  const InstructionList& instructions();
  /// What is on the device at iteration boundaries, by address.
  const std::vector<Resident>& residents();

  /// Object of every operand slot (and workspace, if any) of the run at each step: for tests of the
  /// invariants.
  std::span<const std::int32_t> run_objects(std::int32_t step) const;
  std::int64_t object_offset(std::int32_t object) const { return offsets_[static_cast<std::size_t>(object)]; }
  std::int64_t object_bytes(std::int32_t object) const;
  /// What was resident when the first pass ended, by object (-1: nothing).
  std::span<const std::int32_t> boundary() const { return boundary_; }

 private:
  static constexpr std::int32_t none = -1;
  static constexpr std::int32_t workspace = -2;  // occupant of an object that is not in the list of free ones

  struct Buffer {
    std::int32_t object = none;
    std::int32_t last_access = -1;  // step
    std::int32_t swap_out = none;   // its last one of this iteration
    std::int32_t home = none;       // its object at the iteration boundary
    bool dirty = false;
  };
  struct Object {
    std::int32_t buffer = none;
    std::int32_t since = -1;      // step of the last access by compute
    std::int32_t swap_in = none;  // the last ones of this iteration
    std::int32_t swap_out = none;
    std::int32_t previous = none,
                 next = none;  // neighbours in the list of free objects, the longest free first
    bool touched = false;
  };
  struct Class {
    std::int32_t begin = 0, end = 0;                   // objects
    std::int32_t first_free = none, last_free = none;  // the longest free, the latest
  };
  struct SwapOut {
    std::int32_t buffer, object, step;  // listed after that step; -1: before the first
    bool first_of_object;
  };
  struct SwapIn {
    std::int32_t buffer, object, step;  // listed after that step
    std::int32_t since;                 // the object's last access by compute
    std::int32_t object_out, host_out;  // swap-outs that come before, or `none`
    bool first_of_object;
  };
  /// What a run waits for besides runs.
  struct RunNeeds {
    std::int32_t in = StreamQueues::no_need;  // swap-ins
    std::int32_t outs_end = 0;                // end of its part of run_outs_
  };
  struct FirstTouch {
    std::int32_t step, object;
  };
  struct Chosen {
    std::int32_t operand, object;  // operand: index, `workspace` for the workspace
  };

  void build_objects(const SizeClassPool& pool);
  template <bool timed>
  void pass();
  template <bool timed>
  void run_step(std::int32_t step);
  template <bool timed>
  void finish_run(std::int32_t step);
  template <bool timed>
  bool choose_objects(std::int32_t step);
  template <bool timed>
  void pack(std::int32_t step);
  template <bool timed>
  std::int32_t take(std::int32_t first_class, std::int32_t home, bool longest_free, std::int32_t step);
  template <bool timed>
  void evict(std::int32_t object);
  template <bool timed>
  void swap_out(std::int32_t buffer, std::int32_t object, std::int32_t step);
  template <bool timed>
  void swap_in(std::int32_t buffer, std::int32_t object);
  void touch(std::int32_t object, std::int32_t step);
  void occupy(std::int32_t object, std::int32_t buffer);
  void release(std::int32_t object);
  void unlink(std::int32_t object);
  std::int32_t victim(const Class& c, std::int32_t step) const;
  void list_objects(std::int32_t step);
  std::int32_t demand_of(std::int32_t step, std::int32_t operand) const;
  void close();
  void sort_swap_outs();
  void build_queues();
  void build_run_queue();
  void build_in_queue();
  void build_out_queue();

  Buffer& buffer(std::int32_t b) { return buffers_[static_cast<std::size_t>(b)]; }
  Object& object(std::int32_t o) { return objects_[static_cast<std::size_t>(o)]; }
  std::int32_t& key(std::int32_t o) { return keys_[static_cast<std::size_t>(o)]; }
  const Object& object(std::int32_t o) const { return objects_[static_cast<std::size_t>(o)]; }
  std::int32_t object_class(std::int32_t o) const { return object_class_[static_cast<std::size_t>(o)]; }

  const OpTable* table_;
  const PoolDemand* demand_;
  PoolWalkOptions options_;

  std::vector<std::int32_t> order_;
  OrderUses uses_;
  std::vector<Class> classes_;             // by size, ascending
  std::vector<std::int32_t> class_size_;   // of each: index of its size
  std::vector<std::int32_t> class_index_;  // the reverse
  std::vector<std::int32_t> size_class_;   // by size: index of its class
  std::vector<std::int32_t> object_class_;
  std::vector<std::int64_t> offsets_;  // of objects
  std::vector<Object> objects_;
  std::vector<std::int32_t>
      keys_;  // of objects: step of the next use, negative when free or an operand of this op
  std::vector<Buffer> buffers_;
  std::vector<std::int32_t> boundary_;
  std::vector<Chosen> chosen_;
  std::vector<std::int32_t> packed_;

  std::vector<SwapOut> swap_outs_;
  std::vector<SwapIn> swap_ins_;
  std::vector<RunNeeds> runs_;
  std::vector<FirstTouch> first_touches_;  // by runs
  std::vector<std::int32_t> run_outs_;     // swap-outs that come before runs
  std::vector<std::int32_t> run_objects_, run_objects_begin_, run_entries_;
  std::vector<std::int32_t> out_counts_, out_order_, out_rank_;
  std::int32_t in_step_ = -1;  // the last swap-in is listed after this step
  std::int32_t workspace_object_ = none;
  bool listing_ = false;
  double in_overhead_ = 0, out_overhead_ = 0;
  StreamQueues queues_;
  InstructionList list_;
  std::vector<Resident> residents_;
};

}  // namespace swapadvisor
