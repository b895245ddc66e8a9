// The arena of a walk: segments by address, each occupied by a buffer or free since some point of the list.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace swapadvisor {

/// One stretch of the arena.
struct ArenaSegment {
  static constexpr std::int32_t free = -1;

  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int32_t buffer = free;
  /// Free: nothing later than this step uses these bytes in list order. Occupied: the same, were it evicted
  /// now.
  std::int32_t since = -1;
  /// The estimated time of `since`; for free segments, the end of swap-outs included.
  double since_seconds = 0;
  /// When the value was written, if there is no copy of it in the host store; negative when there is.
  double dirty_seconds = -1;
  /// Seconds of link time an eviction costs; 0 when free.
  double evict_seconds = 0;
  /// When the buffer is used next, in ideal seconds.
  double next_use_seconds = 0;
  /// An operand of the current op: not to be evicted.
  bool pinned = false;

  bool is_free() const { return buffer == free; }
  std::int64_t end() const { return offset + bytes; }
};

/// Segments [first, last) that together hold a request.
struct ArenaWindow {
  std::size_t first = 0, last = 0;
  std::int64_t bytes = 0;
  double cost = std::numeric_limits<double>::infinity();
  bool found() const { return last > first; }
};

/// Segments always cover [begin, end) without gaps.
class ArenaMap {
 public:
  void reset(std::int64_t begin, std::int64_t end) {
    segments_.clear();
    largest_free_ = end - begin;
    if (end > begin) segments_.push_back({begin, end - begin});
  }

  std::span<const ArenaSegment> segments() const { return segments_; }
  ArenaSegment& operator[](std::size_t index) { return segments_[index]; }
  std::size_t size() const { return segments_.size(); }

  /// No run of free segments is longer.
  std::int64_t largest_free() const { return largest_free_; }
  /// Tells it what a look at all segments has found.
  void set_largest_free(std::int64_t bytes) { largest_free_ = bytes; }

  /// The segment that holds this address.
  std::size_t find(std::int64_t offset) const {
    std::size_t low = 0, high = segments_.size();
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (segments_[middle].offset <= offset ? low : high) = middle;
    }
    return low;
  }

  /// Frees segment `index`. Free neighbours are joined when both are free since `merge_up_to` or earlier: who
  /// asks for memory from then on cannot tell them apart.
  void release(std::size_t index, std::int32_t since, double since_seconds, std::int32_t merge_up_to) {
    const ArenaSegment old = segments_[index];
    ArenaSegment& segment = segments_[index];
    segment = {old.offset, old.bytes};
    segment.since = since;
    segment.since_seconds = since_seconds;
    std::int64_t run = 0;
    for (std::size_t k = index; k < segments_.size() && segments_[k].is_free(); ++k)
      run += segments_[k].bytes;
    for (std::size_t k = index; k > 0 && segments_[k - 1].is_free(); --k) run += segments_[k - 1].bytes;
    largest_free_ = largest_free_ > run ? largest_free_ : run;
    if (index + 1 < segments_.size() && join(index, merge_up_to)) segments_.erase(at(index + 1));
    if (index > 0 && join(index - 1, merge_up_to)) segments_.erase(at(index));
  }

  /// Gives `bytes` at `offset` to `buffer`; all segments there are free. Returns the new segment's index.
  std::size_t occupy(std::int64_t offset, std::int64_t bytes, std::int32_t buffer) {
    const std::size_t first = find(offset);
    std::size_t last = first;
    while (segments_[last].end() < offset + bytes) ++last;
    ArenaSegment left = segments_[first], right = segments_[last];
    ArenaSegment taken{offset, bytes, buffer};
    left.bytes = offset - left.offset;
    right.bytes = right.end() - taken.end();
    right.offset = taken.end();
    // Segments [first, last] become: left if any, taken, right if any.
    ArenaSegment pieces[3];
    std::size_t count = 0;
    if (left.bytes > 0) pieces[count++] = left;
    const std::size_t index = first + count;
    pieces[count++] = taken;
    if (right.bytes > 0) pieces[count++] = right;
    const std::size_t old = last - first + 1;
    if (count > old)
      segments_.insert(at(first), count - old, {});
    else
      segments_.erase(at(first), at(first + old - count));
    for (std::size_t k = 0; k < count; ++k) segments_[first + k] = pieces[k];
    return index;
  }

 private:
  std::vector<ArenaSegment>::iterator at(std::size_t index) {
    return segments_.begin() + static_cast<std::ptrdiff_t>(index);
  }

  bool join(std::size_t left, std::int32_t merge_up_to) {
    ArenaSegment& a = segments_[left];
    const ArenaSegment& b = segments_[left + 1];
    if (!a.is_free() || !b.is_free() || a.since > merge_up_to || b.since > merge_up_to) return false;
    a.bytes += b.bytes;
    a.since = a.since > b.since ? a.since : b.since;
    a.since_seconds = a.since_seconds > b.since_seconds ? a.since_seconds : b.since_seconds;
    return true;
  }

  std::vector<ArenaSegment> segments_;
  std::int64_t largest_free_ = 0;
};

}  // namespace swapadvisor
