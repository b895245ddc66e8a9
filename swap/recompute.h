// Recompute: which values are dropped after the forward pass and made again, and the op runs that follow from
// it.
#pragma once

#include <swapadvisor/swap/min_cut.h>
#include <swapadvisor/swap/op_table.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace swapadvisor {

/// The boundary between two ops (before the op at the position returned) across which the most bytes of
/// temporaries are alive: in training, the end of the forward pass.
std::int32_t find_turn(const OpTable& table, std::span<const std::int32_t> order);

/// Chooses what to make again in one order.
class RecomputeChoice {
 public:
  static constexpr std::int32_t any_length = std::numeric_limits<std::int32_t>::max();

  /// `table` must outlive it. `order`: every op once, dependencies kept.
  RecomputeChoice(const OpTable& table, std::span<const std::int32_t> order);

  /// Whether an op may run again behind the turn: it is recomputable, and its outputs are temporaries that no
  /// other op writes.
  bool eligible(std::int32_t op) const { return eligible_[static_cast<std::size_t>(op)] != 0; }
  std::int32_t turn() const { return turn_; }
  bool any_eligible() const { return any_eligible_; }

  /// The ops to run again when keeping a byte of buffer b across the turn costs prices[b] seconds. Each value
  /// is kept or made again; an op that runs again needs its inputs, kept or made again: a minimum cut. Where
  /// more than `longest_chain` ops would run again, each for the next, values in between are kept: what a
  /// long chain makes is on the device at once. Ops whose outputs nobody would need are not in it.
  void choose(std::span<const double> prices, std::int32_t longest_chain, std::vector<std::uint8_t>& again);

  /// Prices by buffer: exp of the line through `log_prices`, evenly spaced from the first op to the turn, at
  /// the place of the value's writer. What is written late is needed again soon, which leaves little time for
  /// its copies.
  void price_line(std::span<const double> log_prices, std::vector<double>& prices) const;

  /// Where the writer of a value that may cross the turn stands: 0 for the first op, 1 at the turn; 0 for
  /// others.
  double place(std::int32_t buffer) const {
    const std::int32_t writer = writer_[static_cast<std::size_t>(buffer)];
    return writer < 0 ? 0
                      : static_cast<double>(position_[static_cast<std::size_t>(writer)]) / std::max(1, turn_);
  }

  /// Smallest and largest price per byte at which anything changes, roughly: what a sweep should cover.
  double lowest_price() const { return lowest_price_; }
  double highest_price() const { return highest_price_; }

 private:
  void find_eligible(std::span<const std::int32_t> order);
  void build_cut();
  void cut_chains(std::int32_t longest, std::vector<std::uint8_t>& again);

  const OpTable* table_;
  std::vector<std::int32_t> position_;  // of ops in the order
  std::vector<std::int32_t> writer_;    // of temporaries with one writer; else −1
  std::vector<std::uint8_t> eligible_, crosses_;
  std::int32_t turn_ = 0;
  bool any_eligible_ = false;
  double lowest_price_ = 0, highest_price_ = 0;

  struct Kept {
    std::int32_t edge = 0, buffer = 0;
    double bytes = 0, place = 0;  // place: 0 for the first op, 1 at the turn
  };
  MinCut cut_{2};
  std::vector<Kept> kept_;
  std::vector<std::int32_t> op_node_;
  std::vector<std::int32_t> by_position_, chain_;  // ops that may run again; by op
};

/// What is made again stays for good: until its last use.
constexpr std::int32_t stays_for_good = std::numeric_limits<std::int32_t>::max();

/// The op runs of an order with `again` ops (per op) run a second time, right before the first reader of
/// their values behind the turn. `stays` (per op; empty: for good): a value whose next reader comes more than
/// so many steps of `order` behind the one before is dropped, and made once more for it; 0: for each op that
/// needs it. Runs that would not find their inputs as they were are left out.
void run_sequence(const OpTable& table, std::span<const std::int32_t> order, std::int32_t turn,
                  std::span<const std::uint8_t> again, std::vector<std::int32_t>& runs,
                  std::span<const std::int32_t> stays = {});

}  // namespace swapadvisor
