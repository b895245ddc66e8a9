// The arena of a walk: segments by address, each occupied by a buffer or free since some point of the list.
#pragma once

#include <bit>
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

/// Segments always cover [begin, end) without gaps. What a search for the cheapest window reads of every
/// segment is kept apart, in arrays that are scanned fast.
class ArenaMap {
 public:
  /// Seconds: later than any use.
  static constexpr double far_future = 1e300;

  void reset(std::int64_t begin, std::int64_t end) {
    segments_.clear();
    sizes_.clear();
    evict_seconds_.clear();
    next_uses_.clear();
    free_bits_.assign(1, 0);
    largest_free_ = end - begin;
    if (end <= begin) return;
    segments_.push_back({begin, end - begin});
    sizes_.push_back(static_cast<double>(end - begin));
    evict_seconds_.push_back(0);
    next_uses_.push_back(far_future);
    free_bits_[0] = 1;
  }

  std::span<const ArenaSegment> segments() const { return segments_; }
  /// Whether it is free, where it is and its size must not be changed this way.
  ArenaSegment& operator[](std::size_t index) { return segments_[index]; }

  /// Bytes of every segment; exact.
  std::span<const double> sizes() const { return sizes_; }
  /// Seconds of link time that evicting a segment costs: 0 when free, infinite when it may not be evicted.
  std::span<const double> evict_seconds() const { return evict_seconds_; }
  /// When the segment's buffer is used next, in ideal seconds; `far_future` when free.
  std::span<const double> next_uses() const { return next_uses_; }
  /// Segment `index` holds an operand of the current op: not to be evicted. So are new segments.
  void pin(std::size_t index) { set_eviction(index, std::numeric_limits<double>::infinity(), far_future); }
  bool pinned(std::size_t index) const {
    return evict_seconds_[index] == std::numeric_limits<double>::infinity();
  }
  /// Segment `index` may be evicted, at that cost.
  void set_eviction(std::size_t index, double evict_seconds, double next_use_seconds) {
    evict_seconds_[index] = evict_seconds;
    next_uses_[index] = next_use_seconds;
  }
  std::size_t size() const { return segments_.size(); }

  /// The first free segment from `index` on; `size()` or more when there is none.
  std::size_t next_free(std::size_t index) const {
    std::size_t word = index / 64;
    if (word >= free_bits_.size()) return size();
    std::uint64_t bits = free_bits_[word] >> (index % 64);
    if (bits != 0) return index + static_cast<std::size_t>(std::countr_zero(bits));
    while (++word < free_bits_.size())
      if (free_bits_[word] != 0)
        return word * 64 + static_cast<std::size_t>(std::countr_zero(free_bits_[word]));
    return size();
  }

  /// No run of free segments is longer.
  std::int64_t largest_free() const { return largest_free_; }
  /// Tells it what a look at all segments has found.
  void set_largest_free(std::int64_t bytes) { largest_free_ = bytes; }

  /// The segment that holds this address.
  std::size_t find(std::int64_t offset) const {
    std::size_t low = 0;
    for (std::size_t left = segments_.size(); left > 1;) {
      const std::size_t half = left / 2;
      low += half * static_cast<std::size_t>(segments_[low + half].offset <= offset);  // without a branch
      left -= half;
    }
    return low;
  }

  /// The segment that begins at this address; at once if it is still the `guess`.
  std::size_t find(std::int64_t offset, std::size_t guess) const {
    return guess < segments_.size() && segments_[guess].offset == offset ? guess : find(offset);
  }

  /// Frees segment `index`. Free neighbours are joined when both are free since `merge_up_to` or earlier: who
  /// asks for memory from then on cannot tell them apart.
  void release(std::size_t index, std::int32_t since, double since_seconds, std::int32_t merge_up_to) {
    ArenaSegment& segment = segments_[index];
    segment = {segment.offset, segment.bytes};
    set_free(index, true);
    set_eviction(index, 0, far_future);
    segment.since = since;
    segment.since_seconds = since_seconds;
    std::int64_t run = 0;
    for (std::size_t k = index; k < segments_.size() && segments_[k].is_free(); ++k)
      run += segments_[k].bytes;
    for (std::size_t k = index; k > 0 && segments_[k - 1].is_free(); --k) run += segments_[k - 1].bytes;
    largest_free_ = largest_free_ > run ? largest_free_ : run;
    if (index + 1 < segments_.size() && join(index, merge_up_to)) erase(index + 1, 1);
    if (index > 0 && join(index - 1, merge_up_to)) erase(index, 1);
  }

  /// Gives `bytes` at `offset` to `buffer`; all segments there are free. Returns the new segment's index.
  /// `guess`: which segment may hold `offset`.
  std::size_t occupy(std::int64_t offset, std::int64_t bytes, std::int32_t buffer, std::size_t guess = 0) {
    const bool right_guess =
        guess < segments_.size() && segments_[guess].offset <= offset && offset < segments_[guess].end();
    const std::size_t first = right_guess ? guess : find(offset);
    std::size_t last = first;
    while (segments_[last].end() < offset + bytes) ++last;
    const std::int64_t left_bytes = offset - segments_[first].offset;
    const std::int64_t right_bytes = segments_[last].end() - (offset + bytes);
    // Segments [first, last] become: left if any, taken, right if any.
    const std::size_t index = first + (left_bytes > 0 ? 1 : 0);
    const std::size_t count = index - first + 1 + (right_bytes > 0 ? 1 : 0);
    const std::size_t old = last - first + 1;
    ArenaSegment right;
    if (right_bytes > 0) right = segments_[last];
    if (count > old)
      insert(index, count - old);
    else if (count < old)
      erase(index, old - count);
    if (left_bytes > 0) resize(first, left_bytes);
    segments_[index] = {offset, bytes, buffer};
    sizes_[index] = static_cast<double>(bytes);
    set_free(index, false);
    pin(index);
    if (right_bytes > 0) {
      right.offset = offset + bytes;
      segments_[index + 1] = right;
      resize(index + 1, right_bytes);
      set_free(index + 1, true);
      set_eviction(index + 1, 0, far_future);
    }
    return index;
  }

 private:
  void set_free(std::size_t index, bool is_free) {
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    if (is_free)
      free_bits_[index / 64] |= bit;
    else
      free_bits_[index / 64] &= ~bit;
  }

  void resize(std::size_t index, std::int64_t bytes) {
    segments_[index].bytes = bytes;
    sizes_[index] = static_cast<double>(bytes);
  }

  template <class T>
  static void insert(std::vector<T>& values, std::size_t index, std::size_t count) {
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(index), count, {});
  }

  template <class T>
  static void erase(std::vector<T>& values, std::size_t index, std::size_t count) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
    values.erase(at, at + static_cast<std::ptrdiff_t>(count));
  }

  void insert(std::size_t index, std::size_t count) {
    insert(segments_, index, count);
    insert(sizes_, index, count);
    insert(evict_seconds_, index, count);
    insert(next_uses_, index, count);
    if (segments_.size() > free_bits_.size() * 64) free_bits_.push_back(0);
    for (; count > 0; --count) {
      std::size_t word = index / 64;
      const std::uint64_t below = (std::uint64_t{1} << (index % 64)) - 1;
      std::uint64_t carry = free_bits_[word] >> 63u;
      free_bits_[word] = (free_bits_[word] & below) | ((free_bits_[word] & ~below) << 1u);
      while (++word < free_bits_.size()) {
        const std::uint64_t next = free_bits_[word] >> 63u;
        free_bits_[word] = free_bits_[word] << 1u | carry;
        carry = next;
      }
    }
  }

  void erase(std::size_t index, std::size_t count) {
    erase(segments_, index, count);
    erase(sizes_, index, count);
    erase(evict_seconds_, index, count);
    erase(next_uses_, index, count);
    for (; count > 0; --count) {
      std::size_t word = index / 64;
      const std::uint64_t below = (std::uint64_t{1} << (index % 64)) - 1;
      free_bits_[word] = (free_bits_[word] & below) | ((free_bits_[word] >> 1u) & ~below);
      for (; word + 1 < free_bits_.size(); ++word) {
        free_bits_[word] |= free_bits_[word + 1] << 63u;
        free_bits_[word + 1] >>= 1u;
      }
    }
  }

  bool join(std::size_t left, std::int32_t merge_up_to) {
    ArenaSegment& a = segments_[left];
    const ArenaSegment& b = segments_[left + 1];
    if (!a.is_free() || !b.is_free() || a.since > merge_up_to || b.since > merge_up_to) return false;
    resize(left, a.bytes + b.bytes);
    a.since = a.since > b.since ? a.since : b.since;
    a.since_seconds = a.since_seconds > b.since_seconds ? a.since_seconds : b.since_seconds;
    return true;
  }

  std::vector<ArenaSegment> segments_;
  std::vector<double> sizes_, evict_seconds_, next_uses_;
  std::vector<std::uint64_t> free_bits_;  // a bit per segment: few are free, and they are looked for often
  std::int64_t largest_free_ = 0;
};

}  // namespace swapadvisor
