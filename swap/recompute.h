// Recompute: which values are dropped after the forward pass and made again, and the op runs that follow from
// it.
#pragma once

#include <swapadvisor/swap/min_cut.h>
#include <swapadvisor/swap/op_table.h>

#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

/// The boundary between two ops (before the op at the position returned) across which the most bytes of
/// temporaries are alive: in training, the end of the forward pass.
std::int32_t find_turn(const OpTable& table, std::span<const std::int32_t> order);

/// Chooses what to make again in one order.
class RecomputeChoice {
 public:
  /// `table` must outlive it. `order`: every op once, dependencies kept.
  RecomputeChoice(const OpTable& table, std::span<const std::int32_t> order);

  /// Whether an op may run again behind the turn: it is recomputable, and its outputs are temporaries that no
  /// other op writes.
  bool eligible(std::int32_t op) const { return eligible_[static_cast<std::size_t>(op)] != 0; }
  std::int32_t turn() const { return turn_; }
  bool any_eligible() const { return any_eligible_; }

  /// The ops to run again when keeping a byte across the turn costs exp(f) seconds, f the value at the byte's
  /// place of the line through `log_prices`, evenly spaced from the first op to the turn: what is written
  /// late is needed again soon, which leaves little time for its copies. Each value is kept or made again; an
  /// op that runs again needs its inputs, kept or made again: a minimum cut. `factors` vary the prices of
  /// single values, repeating; empty: none. Ops whose outputs nobody would need are not in it.
  void choose(std::span<const double> log_prices, std::vector<std::uint8_t>& again,
              std::span<const double> factors = {});

  /// Smallest and largest price per byte at which anything changes, roughly: what a sweep should cover.
  double lowest_price() const { return lowest_price_; }
  double highest_price() const { return highest_price_; }

 private:
  void find_eligible(std::span<const std::int32_t> order);
  void build_cut();

  const OpTable* table_;
  std::vector<std::int32_t> position_;  // of ops in the order
  std::vector<std::int32_t> writer_;    // of temporaries with one writer; else −1
  std::vector<std::uint8_t> eligible_, crosses_;
  std::int32_t turn_ = 0;
  bool any_eligible_ = false;
  double lowest_price_ = 0, highest_price_ = 0;

  struct Kept {
    std::int32_t edge = 0;
    double bytes = 0, place = 0;  // place: 0 for the first op, 1 at the turn
  };
  MinCut cut_{2};
  std::vector<Kept> kept_;
  std::vector<std::int32_t> op_node_;
};

/// The op runs of an order with `again` ops run a second time: each right before its first reader behind the
/// turn. Ops that would no longer find their inputs as they were are left out. `again` is per op. Ops in
/// `each_time` (per op, or empty) run again for every op of the order that needs them, so that their values
/// live no longer than that.
void run_sequence(const OpTable& table, std::span<const std::int32_t> order, std::int32_t turn,
                  std::span<const std::uint8_t> again, std::vector<std::int32_t>& runs,
                  std::span<const std::uint8_t> each_time = {});

}  // namespace swapadvisor
