// What an order says of every operand: when it is used next, whether its value dies, which ops work in place.
#pragma once

#include <swapadvisor/swap/op_table.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace swapadvisor {

/// Filled again for each order, without allocating once it has seen the longest. Steps are positions in the
/// order.
class OrderUses {
 public:
  static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();

  /// An operand, and its place in the order.
  struct Use {
    std::int32_t buffer = 0;
    std::int32_t next = 0;   ///< step of the next use; `op count` + first use when it wraps; `never`
    bool read = false;
    bool write = false;
    bool dies = false;       ///< the value is not needed afterwards
    bool completes = false;  ///< the last write of an output
  };
  /// Buffers of an op that works in place: `taker` gets the address of `donor`, which dies; -1 for none.
  struct Pair {
    std::int32_t donor = -1, taker = -1;
  };

  /// `order`: every op once, dependencies kept.
  void find(const OpTable& table, std::span<const std::int32_t> order);

  /// One per operand of the op at `step`, in the order of `OpTable::operands`.
  std::span<const Use> uses(std::int32_t step) const {
    const auto s = static_cast<std::size_t>(step);
    return {uses_.data() + begin_[s], static_cast<std::size_t>(begin_[s + 1] - begin_[s])};
  }
  /// Step of a buffer's first use; `never` when no op uses it.
  std::int32_t first_use(std::int32_t buffer) const { return next_seen_[static_cast<std::size_t>(buffer)]; }
  /// Step of a buffer's last write; -1 when no op writes it.
  std::int32_t last_write(std::int32_t buffer) const { return last_write_[static_cast<std::size_t>(buffer)]; }
  const Pair& pair(std::int32_t step) const { return pairs_[static_cast<std::size_t>(step)]; }
  void drop_pair(std::int32_t step) { pairs_[static_cast<std::size_t>(step)] = {}; }

 private:
  void find_pairs(const OpTable& table, std::span<const std::int32_t> order);

  std::vector<std::int32_t> begin_;  // of a step's uses
  std::vector<Use> uses_;
  std::vector<std::int32_t> next_seen_, last_write_;
  std::vector<std::uint8_t> next_reads_;
  std::vector<Pair> pairs_;
};

}  // namespace swapadvisor
