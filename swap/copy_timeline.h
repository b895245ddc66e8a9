// When the copies of one direction run, as a walk plans them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace swapadvisor {

/// The copies of one stream, by time. A copy that is added takes the first pause that is long enough, and
/// makes no other copy later.
class CopyTimeline {
 public:
  struct Slot {
    std::size_t block = 0;  ///< where among the busy stretches
    double start = 0;
    std::int32_t step = 0;  ///< after the run of which it is listed
  };

  void clear() { blocks_.clear(); }

  /// For a copy of so many seconds that can start at `earliest` and be listed after the run of `step`: the
  /// first pause that is long enough and lies, in the list, between the copies before and behind it. After
  /// many that are not, the end of the stream.
  Slot find(std::int32_t step, double earliest, double seconds) const {
    constexpr std::size_t most_pauses = 64;
    const auto later = std::upper_bound(blocks_.begin(), blocks_.end(), earliest,
                                        [](double t, const Block& block) { return t < block.end; });
    const auto first = static_cast<std::size_t>(later - blocks_.begin());
    for (std::size_t block = first; block < std::min(blocks_.size(), first + most_pauses); ++block) {
      const Slot slot = behind(block, step, earliest);
      if (slot.start + seconds <= blocks_[block].start && slot.step < blocks_[block].first_step) return slot;
    }
    return behind(blocks_.size(), step, earliest);
  }

  /// Nothing may have been added since `slot` was found.
  void add(const Slot& slot, double seconds) {
    const double end = slot.start + seconds;
    if (slot.block > 0 && blocks_[slot.block - 1].end == slot.start) {
      blocks_[slot.block - 1].end = end;
      blocks_[slot.block - 1].last_step = slot.step;
      return;
    }
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(slot.block),
                   {slot.start, end, slot.step, slot.step});
  }

 private:
  /// Copies without a pause between them.
  struct Block {
    double start, end;
    std::int32_t first_step, last_step;  // after whose runs the first and the last one are listed
  };

  Slot behind(std::size_t block, std::int32_t step, double earliest) const {
    if (block == 0) return {block, earliest, step};
    const Block& before = blocks_[block - 1];
    return {block, std::max(earliest, before.end), std::max(step, before.last_step)};
  }

  std::vector<Block> blocks_;
};

}  // namespace swapadvisor
