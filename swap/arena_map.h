// The arena of a walk: segments by address, each occupied by a buffer or free since some point of the list.
#pragma once

#include <algorithm>
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

/// Segments always cover [begin, end) without gaps. They are kept in chunks, of which none is long, so that
/// taking and freeing a segment moves few others; a position is a place in a chunk, and changes only when
/// segments of that chunk come or go. What a search for the cheapest window reads of every segment is kept
/// apart, in arrays that are scanned fast; what it reads of a whole chunk to pass it by is kept up to date
/// when asked for.
class ArenaMap {
 public:
  using Position = std::size_t;
  static constexpr Position none = std::numeric_limits<Position>::max();
  /// Segments of a chunk; as many as a word has bits.
  static constexpr std::size_t chunk_capacity = 64;
  /// Seconds: later than any use.
  static constexpr double far_future = 1e300;

  /// Runs of free segments within a chunk, in bytes.
  struct FreeRuns {
    std::int64_t longest = 0, at_begin = 0, at_end = 0;
    double earliest = far_future;  ///< the least `since_seconds` of any free segment
    bool all = false;              ///< every segment is free
  };
  /// What evicting anything in a chunk costs at least.
  struct EvictionBound {
    double bytes = 0, free_bytes = 0;
    double seconds_per_byte = std::numeric_limits<double>::infinity();  ///< the least of any buffer
    double latest_use = 0;                                              ///< of any that may be evicted
  };

  void reset(std::int64_t begin, std::int64_t end) {
    order_.clear();
    chunks_.clear();
    spare_chunks_.clear();
    segments_.clear();
    sizes_.clear();
    evict_seconds_.clear();
    next_uses_.clear();
    size_ = 0;
    largest_free_ = end - begin;
    if (end <= begin) return;
    order_.push_back(new_chunk());
    chunks_[0].count = 1;
    size_ = 1;
    segments_[0] = {begin, end - begin};
    sizes_[0] = static_cast<double>(end - begin);
    set_free(0, true);
    set_eviction(0, 0, far_future);
  }

  /// Whether it is free, where it is and its size must not be changed this way.
  ArenaSegment& operator[](Position at) { return segments_[at]; }
  const ArenaSegment& operator[](Position at) const { return segments_[at]; }
  std::size_t size() const { return size_; }

  // --- in order of address
  Position first() const { return order_.empty() ? none : chunk_begin(0); }
  Position next(Position at) const {
    const Chunk& chunk = chunk_of(at);
    if (at % chunk_capacity + 1 < chunk.count) return at + 1;
    return chunk.rank + 1 < order_.size() ? chunk_begin(chunk.rank + 1) : none;
  }
  /// Of `none`: the last.
  Position previous(Position at) const {
    if (at == none) return order_.empty() ? none : chunk_end(order_.size() - 1) - 1;
    if (at % chunk_capacity > 0) return at - 1;
    const std::size_t rank = chunk_of(at).rank;
    return rank > 0 ? chunk_end(rank - 1) - 1 : none;
  }

  // --- chunks, by rank in order of address
  std::size_t chunk_count() const { return order_.size(); }
  Position chunk_begin(std::size_t rank) const { return order_[rank] * chunk_capacity; }
  std::size_t chunk_size(std::size_t rank) const { return chunks_[order_[rank]].count; }
  Position chunk_end(std::size_t rank) const { return chunk_begin(rank) + chunk_size(rank); }
  std::size_t rank_of(Position at) const { return chunk_of(at).rank; }
  /// A bit per segment of the chunk that is free.
  std::uint64_t free_bits(std::size_t rank) const { return chunks_[order_[rank]].free_bits; }
  const FreeRuns& free_runs(std::size_t rank) {
    Chunk& chunk = chunks_[order_[rank]];
    if (chunk.runs_stale) find_free_runs(rank, chunk);
    return chunk.runs;
  }
  const EvictionBound& eviction_bound(std::size_t rank) {
    Chunk& chunk = chunks_[order_[rank]];
    if (chunk.bound_stale) find_bound(rank, chunk);
    return chunk.bound;
  }
  /// Bytes of the chunk's segments; exact.
  std::span<const double> sizes(std::size_t rank) const { return part(sizes_, rank); }
  /// Seconds of link time that evicting a segment costs: 0 when free, infinite when it may not be evicted.
  std::span<const double> evict_seconds(std::size_t rank) const { return part(evict_seconds_, rank); }
  /// When the segments' buffers are used next, in ideal seconds; `far_future` when free.
  std::span<const double> next_uses(std::size_t rank) const { return part(next_uses_, rank); }

  double next_use(Position at) const { return next_uses_[at]; }
  bool pinned(Position at) const { return evict_seconds_[at] == std::numeric_limits<double>::infinity(); }
  /// The segment holds an operand of the current op: not to be evicted. So are new segments.
  void pin(Position at) { set_eviction(at, std::numeric_limits<double>::infinity(), far_future); }
  /// The segment may be evicted, at that cost.
  void set_eviction(Position at, double evict_seconds, double next_use_seconds) {
    evict_seconds_[at] = evict_seconds;
    next_uses_[at] = next_use_seconds;
    chunk_of(at).bound_stale = true;
  }

  /// No run of free segments is longer.
  std::int64_t largest_free() const { return largest_free_; }
  /// Tells it what a look at all segments has found.
  void set_largest_free(std::int64_t bytes) { largest_free_ = bytes; }

  /// The segment that holds this address.
  Position find(std::int64_t offset) const {
    std::size_t low = 0;
    for (std::size_t left = order_.size(); left > 1;) {
      const std::size_t half = left / 2;
      low += half * static_cast<std::size_t>(segments_[chunk_begin(low + half)].offset <= offset);
      left -= half;
    }
    Position at = chunk_begin(low);
    for (std::size_t left = chunk_size(low); left > 1;) {
      const std::size_t half = left / 2;
      at += half * static_cast<std::size_t>(segments_[at + half].offset <= offset);  // without a branch
      left -= half;
    }
    return at;
  }

  /// The segment that begins at this address; at once if it is still at the position `guess`.
  Position find(std::int64_t offset, Position guess) const {
    return guess < segments_.size() && segments_[guess].offset == offset ? guess : find(offset);
  }

  /// Frees the segment. Free neighbours are joined when both are free since `merge_up_to` or earlier: who
  /// asks for memory from then on cannot tell them apart. Returns the segment that now holds those bytes.
  Position release(Position at, std::int32_t since, double since_seconds, std::int32_t merge_up_to) {
    ArenaSegment& segment = segments_[at];
    segment = {segment.offset, segment.bytes};
    set_free(at, true);
    set_eviction(at, 0, far_future);
    segment.since = since;
    segment.since_seconds = since_seconds;
    Position before = previous(at), behind = next(at);
    std::int64_t run = segment.bytes;
    for (Position k = behind; k != none && segments_[k].is_free(); k = next(k)) run += segments_[k].bytes;
    for (Position k = before; k != none && segments_[k].is_free(); k = previous(k)) run += segments_[k].bytes;
    largest_free_ = std::max(largest_free_, run);
    const std::int64_t offset = segment.offset;
    bool moved = false;
    if (behind != none && join(at, behind, merge_up_to)) moved = erase(behind, 1);
    if (moved) {
      at = find(offset);
      before = previous(at);
    }
    if (before == none || !join(before, at, merge_up_to)) return at;
    return erase(at, 1) ? find(offset) : before;
  }

  /// Gives `bytes` at `offset` to `buffer`; all segments there are free. Returns the new segment's position.
  /// `guess`: which segment may hold `offset`.
  Position occupy(std::int64_t offset, std::int64_t bytes, std::int32_t buffer, Position guess = 0) {
    const bool right_guess =
        guess < segments_.size() && segments_[guess].offset <= offset && offset < segments_[guess].end();
    Position at = right_guess ? guess : find(offset);
    const std::int64_t end = offset + bytes;
    const ArenaSegment first = segments_[at];
    ArenaSegment last = first;
    while (segments_[at].end() < end) {
      last = segments_[next(at)];
      at = swallow_next(at);
    }
    const std::int64_t left_bytes = offset - first.offset;
    const std::int64_t right_bytes = last.end() - end;
    // The segment becomes: left if any, taken, right if any.
    const std::size_t extra = (left_bytes > 0 ? 1U : 0U) + (right_bytes > 0 ? 1U : 0U);
    if (extra > 0) at = insert(at, extra);
    if (left_bytes > 0) set_free_part(at++, first, first.offset, left_bytes);
    segments_[at] = {offset, bytes, buffer};
    sizes_[at] = static_cast<double>(bytes);
    set_free(at, false);
    pin(at);
    if (right_bytes > 0) set_free_part(at + 1, last, end, right_bytes);
    return at;
  }

 private:
  struct Chunk {
    std::size_t rank = 0;
    std::uint32_t count = 0;
    bool runs_stale = true, bound_stale = true;
    std::uint64_t free_bits = 0;
    FreeRuns runs;
    EvictionBound bound;
  };

  Chunk& chunk_of(Position at) { return chunks_[at / chunk_capacity]; }
  const Chunk& chunk_of(Position at) const { return chunks_[at / chunk_capacity]; }

  std::span<const double> part(const std::vector<double>& values, std::size_t rank) const {
    return {values.data() + chunk_begin(rank), chunk_size(rank)};
  }

  void set_free(Position at, bool is_free) {
    Chunk& chunk = chunk_of(at);
    const std::uint64_t bit = std::uint64_t{1} << (at % chunk_capacity);
    chunk.free_bits = is_free ? chunk.free_bits | bit : chunk.free_bits & ~bit;
    chunk.runs_stale = true;
  }

  // What is left of the free segment `whole`.
  void set_free_part(Position at, const ArenaSegment& whole, std::int64_t offset, std::int64_t bytes) {
    segments_[at] = whole;
    segments_[at].offset = offset;
    segments_[at].bytes = bytes;
    sizes_[at] = static_cast<double>(bytes);
    set_free(at, true);
    set_eviction(at, 0, far_future);
  }

  void find_free_runs(std::size_t rank, Chunk& chunk) const {
    chunk.runs_stale = false;
    chunk.runs = {};
    const Position begin = chunk_begin(rank);
    std::int64_t run = 0;
    std::size_t run_begin = 0, behind = 0, count = 0;  // slots
    for (std::uint64_t bits = chunk.free_bits; bits != 0; bits &= bits - 1) {
      const auto slot = static_cast<std::size_t>(std::countr_zero(bits));
      if (slot != behind) {
        run = 0;
        run_begin = slot;
      }
      run += segments_[begin + slot].bytes;
      chunk.runs.earliest = std::min(chunk.runs.earliest, segments_[begin + slot].since_seconds);
      ++count;
      chunk.runs.longest = std::max(chunk.runs.longest, run);
      if (run_begin == 0) chunk.runs.at_begin = run;
      behind = slot + 1;
    }
    if (behind == chunk.count) chunk.runs.at_end = run;
    chunk.runs.all = count == chunk.count;
  }

  void find_bound(std::size_t rank, Chunk& chunk) const {
    chunk.bound_stale = false;
    EvictionBound bound;
    const std::span<const double> bytes = sizes(rank), evict = evict_seconds(rank), next = next_uses(rank);
    for (std::size_t k = 0; k < bytes.size(); ++k) {
      bound.bytes += bytes[k];
      const bool free = evict[k] == 0;
      bound.free_bytes += free ? bytes[k] : 0;
      const bool evictable = !free && evict[k] < std::numeric_limits<double>::infinity();
      bound.seconds_per_byte = std::min(
          bound.seconds_per_byte, evictable ? evict[k] / bytes[k] : std::numeric_limits<double>::infinity());
      bound.latest_use = std::max(bound.latest_use, evictable ? next[k] : 0.0);
    }
    chunk.bound = bound;
  }

  // Joins two neighbours; the right one is to be erased.
  bool join(Position left, Position right, std::int32_t merge_up_to) {
    ArenaSegment& a = segments_[left];
    const ArenaSegment& b = segments_[right];
    if (!a.is_free() || !b.is_free() || a.since > merge_up_to || b.since > merge_up_to) return false;
    a.bytes += b.bytes;
    sizes_[left] = static_cast<double>(a.bytes);
    chunk_of(left).runs_stale = chunk_of(left).bound_stale = true;
    a.since = std::max(a.since, b.since);
    a.since_seconds = std::max(a.since_seconds, b.since_seconds);
    return true;
  }

  // Adds the next segment's bytes. Returns where the segment is then.
  Position swallow_next(Position at) {
    const std::int64_t offset = segments_[at].offset;
    const Position right = next(at);
    segments_[at].bytes += segments_[right].bytes;
    return erase(right, 1) ? find(offset) : at;
  }

  std::size_t new_chunk() {
    std::size_t id = chunks_.size();
    if (spare_chunks_.empty()) {
      chunks_.emplace_back();
      const std::size_t slots = chunks_.size() * chunk_capacity;
      segments_.resize(slots, {-1, 0});
      sizes_.resize(slots);
      evict_seconds_.resize(slots);
      next_uses_.resize(slots);
    } else {
      id = spare_chunks_.back();
      spare_chunks_.pop_back();
      chunks_[id] = {};
    }
    return id;
  }

  void number_chunks(std::size_t from) {
    for (std::size_t rank = from; rank < order_.size(); ++rank) chunks_[order_[rank]].rank = rank;
  }

  // Moves segments and all that is known of them; those that were there are no segments any more.
  void move(Position from, Position to, std::size_t count) {
    const auto move_in = [&](auto& values) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
      const auto end = begin + static_cast<std::ptrdiff_t>(count);
      const auto target = values.begin() + static_cast<std::ptrdiff_t>(to);
      if (to < from)
        std::copy(begin, end, target);
      else
        std::copy_backward(begin, end, target + static_cast<std::ptrdiff_t>(count));
    };
    move_in(segments_);
    move_in(sizes_);
    move_in(evict_seconds_);
    move_in(next_uses_);
  }

  void vacate(Position from, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) segments_[from + k] = {-1, 0};  // no guess finds it
  }

  // Makes room for `extra` segments behind the one at `at`, which stays the first; returns where it is then.
  Position insert(Position at, std::size_t extra) {
    if (chunk_of(at).count + extra > chunk_capacity) at = split(at);
    Chunk& chunk = chunk_of(at);
    const std::size_t slot = at % chunk_capacity;
    move(at + 1, at + 1 + extra, chunk.count - slot - 1);
    const std::uint64_t below = (std::uint64_t{2} << slot) - 1;
    chunk.free_bits = (chunk.free_bits & below) | ((chunk.free_bits & ~below) << extra);
    chunk.count += static_cast<std::uint32_t>(extra);
    chunk.runs_stale = chunk.bound_stale = true;
    size_ += extra;
    return at;
  }

  // The upper half of the chunk becomes one of its own. Returns where the segment at `at` is then.
  Position split(Position at) {
    const std::size_t id = new_chunk();
    Chunk& lower = chunk_of(at);
    Chunk& upper = chunks_[id];
    const std::size_t kept = lower.count / 2;
    const Position begin = at - at % chunk_capacity;
    upper.count = lower.count - static_cast<std::uint32_t>(kept);
    upper.free_bits = lower.free_bits >> kept;
    move(begin + kept, id * chunk_capacity, upper.count);
    vacate(begin + kept, upper.count);
    lower.count = static_cast<std::uint32_t>(kept);
    lower.free_bits &= (std::uint64_t{1} << kept) - 1;
    lower.runs_stale = lower.bound_stale = true;
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(lower.rank) + 1, id);
    number_chunks(lower.rank + 1);
    const std::size_t slot = at - begin;
    return slot < kept ? at : id * chunk_capacity + slot - kept;
  }

  // Removes `count` segments of one chunk. Returns whether other segments than those behind them in the chunk
  // may have moved.
  bool erase(Position at, std::size_t count) {
    Chunk& chunk = chunk_of(at);
    const std::size_t slot = at % chunk_capacity;
    const Position begin = at - slot;
    move(at + count, at, chunk.count - slot - count);
    vacate(begin + chunk.count - count, count);
    const std::uint64_t below = (std::uint64_t{1} << slot) - 1;
    chunk.free_bits = (chunk.free_bits & below) | (((chunk.free_bits & ~below) >> count) & ~below);
    chunk.count -= static_cast<std::uint32_t>(count);
    chunk.runs_stale = chunk.bound_stale = true;
    size_ -= count;
    return chunk.count < chunk_capacity / 4 && join_chunks(chunk.rank);
  }

  // Puts a short chunk behind the one before it, when that has room.
  bool join_chunks(std::size_t rank) {
    Chunk& chunk = chunks_[order_[rank]];
    if (chunk.count > 0) {
      if (rank == 0) return false;
      Chunk& left = chunks_[order_[rank - 1]];
      if (left.count + chunk.count > chunk_capacity / 2) return false;
      move(chunk_begin(rank), chunk_end(rank - 1), chunk.count);
      vacate(chunk_begin(rank), chunk.count);
      left.free_bits |= chunk.free_bits << left.count;
      left.count += chunk.count;
      left.runs_stale = left.bound_stale = true;
      chunk.count = 0;
    }
    spare_chunks_.push_back(order_[rank]);
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(rank));
    number_chunks(rank);
    return true;
  }

  std::vector<std::size_t> order_;         // chunk numbers, by address
  std::vector<Chunk> chunks_;              // by number
  std::vector<std::size_t> spare_chunks_;  // numbers
  std::vector<ArenaSegment> segments_;     // by position, as are the next three
  std::vector<double> sizes_, evict_seconds_, next_uses_;
  std::size_t size_ = 0;
  std::int64_t largest_free_ = 0;
};

/// Segments that together hold a request: from `first` up to, without, `last`.
struct ArenaWindow {
  ArenaMap::Position first = ArenaMap::none, last = ArenaMap::none;
  std::int64_t bytes = 0;
  double cost = std::numeric_limits<double>::infinity();
  bool found() const { return first != ArenaMap::none; }
};

}  // namespace swapadvisor
