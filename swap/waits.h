// Waits: from the order of an instruction list to the events that keep its meaning on three streams.
#pragma once

#include <swapadvisor/swap/instruction_list.h>
#include <swapadvisor/swap/op_table.h>

#include <array>
#include <cstdint>
#include <vector>

namespace swapadvisor {

/// Gives every instruction of a list the fewest waits such that any two accesses to a common device byte or
/// host slot, at least one of them a write, happen in list order, iteration after iteration. Planners decide
/// the order and the offsets only.
///
/// Accesses: a run reads its inputs, writes its outputs and its workspace; a swap-out reads the device and
/// writes the host slot; a swap-in does the reverse. Inputs and outputs have two host slots by iteration
/// parity, and at most two iterations are in flight, so theirs never conflict across iterations. A conflict
/// with the iteration before the previous one needs no wait: the same two instructions conflict, and wait,
/// between neighbours.
///
/// What stream order or other waits already imply is dropped (vector clocks), so at most one wait per other
/// stream, and one on the previous iteration, remains. O(n log n). Keeps its scratch memory: inferring for
/// lists that are not larger allocates nothing. One per thread.
class WaitInference {
 public:
  explicit WaitInference(const OpTable& table) : table_(&table) {}

  /// Fills `flat` with streams, work and waits, ready for the simulator. Offsets are multiples of
  /// `arena_alignment`.
  void infer(const InstructionList& list, FlatProgram& flat);

 private:
  using Clock = std::array<std::int32_t, stream_count>;  // latest instruction known to be done, per stream

  static constexpr Clock nothing{-1, -1, -1};

  // The last accesses to the bytes from one cell boundary to `next`.
  struct Node {
    std::int32_t next = 0;
    Clock writer = nothing;  // one at most, at its stream: a clock adds up without branches
    Clock readers = nothing;
  };
  struct Access {
    std::int32_t begin = 0, end = 0;  // cells
    bool write = false;
  };
  struct HashSlot {
    std::int64_t key = 0;
    std::int32_t id = 0;
  };
  // Where a buffer is, with the numbers of its edges.
  struct Placement {
    std::int64_t offset = -1;
    std::int32_t begin = 0, end = 0;
  };
  struct HostSlot {
    std::int32_t writer = -1, reader = -1;
  };

  std::int32_t edge_id(std::int64_t edge);
  std::size_t hash_slot(std::int64_t edge) const;
  void list_accesses(const InstructionList& list);
  void find_waits(const InstructionList& list, FlatProgram& flat);
  void find_waits_previous(const InstructionList& list, FlatProgram& flat);
  void collect(const Access& access, std::int32_t reader, Clock& needed);
  void collect_host(const InstructionList::Entry& entry, std::int32_t index, Clock& needed);
  void split(std::int32_t left, std::int32_t cell);
  std::int32_t last_boundary_up_to(std::int32_t cell) const;
  void set_boundary(std::int32_t cell);
  void clear_boundary(std::int32_t cell);
  void need(std::int32_t instruction, Clock& needed) const {
    if (instruction < 0) return;
    std::int32_t& latest = needed[static_cast<std::size_t>(streams_[static_cast<std::size_t>(instruction)])];
    if (instruction > latest) latest = instruction;
  }

  const OpTable* table_;
  std::vector<std::uint8_t> streams_;
  std::vector<Access> accesses_;
  std::vector<std::int32_t> accesses_end_;   // per instruction
  std::vector<Clock> done_before_;           // of this iteration
  std::vector<Clock> done_before_previous_;  // of the previous iteration
  std::vector<Node> nodes_;                  // by cell
  std::vector<HostSlot> host_;               // by buffer
  std::vector<std::vector<std::uint64_t>>
      boundary_levels_;               // a bit per cell, then a bit per non-zero word, …
  std::vector<std::int64_t> edges_;   // cell → offset
  std::vector<std::int32_t> cells_;   // by number of the edge
  std::vector<HashSlot> hash_;        // edge → its number
  std::vector<Placement> last_seen_;  // by buffer
};

/// For one Program: keeps its waits as extra ones and adds what is missing.
void infer_waits(Program& program);

}  // namespace swapadvisor
