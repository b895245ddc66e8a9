// Where in the arena: the choice of a window.
#include <swapadvisor/swap/walk.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace swapadvisor {

// When a swap-out of the segment's buffer would be done.
inline double Walker::out_end(const ArenaSegment& segment) const {
  const double seconds = copy_seconds(segment.bytes, d2h_);
  if (!policy_.fit_copies) return std::max(out_ready_, segment.dirty_seconds) + seconds;
  const State& s = state(segment.buffer);
  return outs_.find(s.dirty ? s.last_write : s.last_access, segment.dirty_seconds, seconds).start + seconds;
}

// When the window's readers, and the swap-outs that its eviction takes, are done; or any time from `enough`
// on when that is later.
inline double Walker::free_seconds(const ArenaWindow& window, double enough) const {
  double ready = 0;
  for (ArenaMap::Position k = window.first; k != window.last && ready < enough; k = arena_.next(k)) {
    const ArenaSegment& segment = arena_[k];
    ready = std::max(ready, segment.since_seconds);
    if (segment.dirty_seconds >= 0) ready = std::max(ready, out_end(segment));
  }
  return ready;
}

// Of the windows that are free by that time, the one that wastes the least room; of many, a small one. Only
// chunks that a long enough run of free segments begins or ends in are looked at.
ArenaWindow Walker::free_window(std::int64_t bytes, double free_by) {
  ArenaWindow best;
  if (arena_.largest_free() < bytes) return best;
  std::int64_t longest = 0, carried = 0;   // at any time; at the end of the chunks before
  std::size_t carried_from = 0;            // the chunk in which that run begins
  double earliest = ArenaMap::far_future;  // of the chunks from there on
  std::size_t looked_at = 0;
  for (std::size_t rank = 0; rank < arena_.chunk_count(); ++rank) {
    const ArenaMap::FreeRuns& runs = arena_.free_runs(rank);
    const std::int64_t joined = carried + runs.at_begin;
    longest = std::max({longest, runs.longest, joined});
    const bool carries = carried > 0 && joined >= bytes;
    if (carries || runs.longest >= bytes) {
      if ((carries ? std::min(earliest, runs.earliest) : runs.earliest) <= free_by)
        best = free_window_in(carries ? carried_from : rank, rank, bytes, free_by, best, looked_at);
      if (best.bytes == bytes || looked_at > most_looked_at) return best;
    }
    if (!runs.all || carried == 0) {
      carried_from = rank;
      carried = 0;
      earliest = ArenaMap::far_future;
    }
    carried += runs.at_end;
    earliest = std::min(earliest, runs.earliest);
  }
  arena_.set_largest_free(longest);
  return best;
}

// In these chunks, from the run on with which the first of several ends; `best`: the best of those before.
ArenaWindow Walker::free_window_in(std::size_t first_rank, std::size_t last_rank, std::int64_t bytes,
                                   double free_by, ArenaWindow best, std::size_t& looked_at) const {
  ArenaWindow window;
  ArenaMap::Position behind = ArenaMap::none;  // behind the last free segment
  for (std::size_t rank = first_rank; rank <= last_rank; ++rank) {
    const ArenaMap::Position begin = arena_.chunk_begin(rank), end = arena_.chunk_end(rank);
    std::uint64_t bits = arena_.free_bits(rank);
    if (rank < last_rank) {
      const std::size_t count = end - begin;
      const std::size_t others =
          count - static_cast<std::size_t>(std::countl_one(bits << (ArenaMap::chunk_capacity - count)));
      bits = bits >> others << others;
    }
    for (; bits != 0; bits &= bits - 1) {
      const ArenaMap::Position k = begin + static_cast<std::size_t>(std::countr_zero(bits));
      const ArenaSegment& segment = arena_[k];
      ++looked_at;
      if (k != behind) window.bytes = 0;
      behind = k + 1 < end ? k + 1 : arena_.next(k);
      if (segment.since_seconds > free_by) {
        window.bytes = 0;
        continue;
      }
      if (window.bytes == 0) window.first = k;
      window.bytes += segment.bytes;
      window.last = behind;
      if (window.bytes == bytes) return window;
      if (window.bytes < bytes || (best.found() && window.bytes >= best.bytes)) continue;
      // A run that grows beyond the request is measured at its end.
      if (behind == ArenaMap::none || !arena_[behind].is_free() || arena_[behind].since_seconds > free_by)
        best = window;
    }
  }
  return best;
}

ArenaWindow Walker::cheapest_window(std::int64_t bytes, std::int32_t step, bool copy_in) {
  // A swap-in waits for the ones already listed; whatever is free by then makes nobody wait any longer.
  const double copying = copy_in ? copy_seconds(bytes, h2d_) : 0;
  const double started = end_of(step - 1);
  double no_wait = started - copying;
  if (copy_in)
    no_wait = policy_.fit_copies ? ins_.find(-1, std::max(0.0, no_wait), copying).start
                                 : std::max(no_wait, in_ready_);
  const double iteration = ideal_start_[order_.size()];
  if (copy_in && policy_.lead > 0)
    for (const double part : {1.0, 0.25}) {
      const ArenaWindow early = free_window(bytes, no_wait - part * policy_.lead * iteration);
      if (early.found()) return early;
    }
  const ArenaWindow best = free_window(bytes, no_wait);
  if (best.found()) return best;
  if (copy_in) no_wait -= policy_.evicting_lead * iteration;

  WindowSearch search{bytes, ideal_start_[static_cast<std::size_t>(step)], iteration, no_wait};
  const bool bounded = policy_.eviction != WalkPolicy::Eviction::distance;  // by what eviction costs the link
  if (bounded && arena_.size() > most_scanned) return cheapest_of_many(search);
  if (arena_.size() > 0) cheapest_window_in(search, 0, arena_.chunk_count(), arena_.size());
  return search.best;
}

// In an arena of very many pieces: chunks in the order of what a window that begins there costs at least,
// until none can be cheaper than what is found, or enough has been looked at.
ArenaWindow Walker::cheapest_of_many(WindowSearch& search) {
  bound_chunks(search);
  for (std::size_t looked_at = 0; looked_at < most_looked_at || !search.best.found();) {
    const auto least = std::min_element(chunk_bounds_.begin(), chunk_bounds_.end());
    if (*least >= search.best.cost) break;
    *least = ArenaWindow{}.cost;
    const auto rank = static_cast<std::size_t>(least - chunk_bounds_.begin());
    looked_at += cheapest_window_in(search, rank, chunk_spans_[rank], arena_.chunk_size(rank));
  }
  return search.best;
}

// A window that begins in chunk `begin` ends in one of `first_end` and those behind it up to `last_end`: the
// chunks between are evicted whole, and of the others what is still missing, at the lowest price there. For
// each chunk the bound, and the chunk behind `last_end`.
void Walker::bound_chunks(const WindowSearch& search) {
  const std::size_t count = arena_.chunk_count();
  const auto wanted = static_cast<double>(search.bytes);
  chunk_bounds_.resize(count);
  chunk_spans_.resize(count);
  chunk_prices_.resize(count);
  bytes_before_.resize(count + 1);
  cost_before_.resize(count + 1);
  bytes_before_[0] = cost_before_[0] = 0;
  for (std::size_t rank = 0; rank < count; ++rank) {
    const ArenaMap::EvictionBound& bound = arena_.eviction_bound(rank);
    const bool any = bound.latest_use > search.now;
    chunk_prices_[rank] =
        any ? bound.seconds_per_byte * search.iteration / (bound.latest_use - search.now) : pinned_cost;
    bytes_before_[rank + 1] = bytes_before_[rank] + bound.bytes;
    cost_before_[rank + 1] =
        cost_before_[rank] + (any ? (bound.bytes - bound.free_bytes) * chunk_prices_[rank] : 0);
  }
  std::size_t first_end = 0, last_end = 0;
  for (std::size_t begin = 0; begin < count; ++begin) {
    first_end = std::max(first_end, begin);
    while (first_end < count && bytes_before_[first_end + 1] - bytes_before_[begin] < wanted) ++first_end;
    last_end = std::max(last_end, first_end);
    while (last_end + 1 < count && bytes_before_[last_end + 1] - bytes_before_[begin + 1] < wanted)
      ++last_end;
    chunk_bounds_[begin] = pinned_cost;
    if (first_end == count) continue;
    chunk_spans_[begin] = last_end + 1;
    double missing = wanted - arena_.eviction_bound(begin).free_bytes;
    double price = chunk_prices_[begin], whole = 0;
    if (first_end > begin + 1) {
      missing -= bytes_before_[first_end] - bytes_before_[begin + 1];
      whole = cost_before_[first_end] - cost_before_[begin + 1];
    }
    for (std::size_t end = std::max(first_end, begin + 1); end <= last_end; ++end) {
      missing -= arena_.eviction_bound(end).free_bytes;
      price = std::min(price, chunk_prices_[end]);
    }
    chunk_bounds_[begin] = std::max(0.0, whole) + (missing > 0 ? missing * price : 0);
  }
}

// Two pointers over the segments of chunks [first_rank, last_rank): for each of the first `starts` segments
// the shortest window from there that is large enough. Its cost is what the evictions cost the link, the more
// the sooner the buffers are needed again, and for how long the op waits. Returns how many it looked at.
std::size_t Walker::cheapest_window_in(WindowSearch& search, std::size_t first_rank, std::size_t last_rank,
                                       std::size_t starts) {
  const std::size_t count = price_segments(search, first_rank, last_rank);
  const double waste_cost = 1e-3 * search.iteration / static_cast<double>(limit_);
  const double* const sizes = window_sizes_.data();
  const double* const costs = window_costs_.data();
  const auto wanted = static_cast<double>(search.bytes);
  const double stall_weight = policy_.eviction == WalkPolicy::Eviction::distance ? 0 : policy_.stall_weight;
  ArenaWindow& best = search.best;
  std::size_t first = 0, last = 0;
  double size = 0, cost = 0;
  ChunkCursor first_at{first_rank, 0}, last_at{first_rank, 0};
  while (first < starts) {
    while (last < count && size < wanted && costs[last] < pinned_cost) {
      cost += costs[last];
      size += sizes[last];
      ++last;
    }
    if (size < wanted) {  // the end, or a pinned segment: go on behind it
      first = ++last;
      size = cost = 0;
      continue;
    }
    if (cost < best.cost) {
      // Of windows as good as each other, the one that wastes the least room.
      ArenaWindow window{position(first_at, first), position(last_at, last), static_cast<std::int64_t>(size),
                         std::max(cost, 0.0) + waste_cost * (size - wanted)};
      const double enough = search.no_wait + (best.cost - window.cost) / stall_weight;
      if (window.cost < best.cost && stall_weight > 0)
        window.cost += stall_weight * std::max(0.0, free_seconds(window, enough) - search.no_wait);
      if (window.cost < best.cost) best = window;
    }
    cost -= costs[first];
    size -= sizes[first];
    if (++first == last) cost = 0;
  }
  return count;
}

// The position of the segment that is the `index`-th of the chunks looked at; `cursor`: the chunk of an
// earlier one.
inline ArenaMap::Position Walker::position(ChunkCursor& cursor, std::size_t index) const {
  while (cursor.rank < arena_.chunk_count() && index >= cursor.begin + arena_.chunk_size(cursor.rank))
    cursor.begin += arena_.chunk_size(cursor.rank++);
  if (cursor.rank == arena_.chunk_count()) return ArenaMap::none;
  return arena_.chunk_begin(cursor.rank) + index - cursor.begin;
}

// What evicting each segment of the chunks costs, in seconds of link time per iteration. Returns how many
// they are.
std::size_t Walker::price_segments(const WindowSearch& search, std::size_t first_rank,
                                   std::size_t last_rank) {
  const std::size_t most = (last_rank - first_rank) * ArenaMap::chunk_capacity;
  if (window_costs_.size() < most) {
    window_costs_.resize(most);
    window_sizes_.resize(most);
  }
  const bool by_distance = policy_.eviction == WalkPolicy::Eviction::distance;
  std::size_t count = 0;
  for (std::size_t rank = first_rank; rank < last_rank; ++rank) {
    const std::size_t part = arena_.chunk_size(rank);
    const double* const evict = arena_.evict_seconds(rank).data();
    const double* const next = arena_.next_uses(rank).data();
    const double* const sizes = arena_.sizes(rank).data();
    double* const costs = window_costs_.data() + count;
    double* const window_sizes = window_sizes_.data() + count;
    for (std::size_t k = 0; k < part; ++k) costs[k] = evict[k] * search.iteration / (next[k] - search.now);
    for (std::size_t k = 0; k < part; ++k) window_sizes[k] = sizes[k];
    if (by_distance)
      for (std::size_t k = 0; k < part; ++k)
        if (evict[k] > 0 && evict[k] < pinned_cost) costs[k] = search.iteration / (next[k] - search.now);
    count += part;
  }
  return count;
}

// The window whose most recently used buffer was used the longest ago; then the one with the least waste. In
// an arena of very many pieces, of a part of it, another one each time.
ArenaWindow Walker::least_recent_window(std::int64_t bytes) {
  constexpr std::size_t chunks = most_looked_at / ArenaMap::chunk_capacity * 2;
  const std::size_t count = arena_.chunk_count();
  if (count > chunks) {
    if (rover_ >= count) rover_ = 0;
    const std::size_t first = std::exchange(rover_, rover_ + chunks);
    const ArenaWindow window = least_recent_window_in(first, std::min(count, first + chunks), bytes);
    if (window.found()) return window;
  }
  return least_recent_window_in(0, count, bytes);
}

ArenaWindow Walker::least_recent_window_in(std::size_t first_rank, std::size_t last_rank,
                                           std::int64_t bytes) {
  ArenaWindow best;
  if (first_rank == last_rank) return best;
  const ArenaMap::Position end =
      last_rank < arena_.chunk_count() ? arena_.chunk_begin(last_rank) : ArenaMap::none;
  const auto accessed = [&](ArenaMap::Position k) {
    return arena_[k].is_free() ? -2 : state(arena_[k].buffer).last_access;
  };
  // Of the window's segments, those that none behind them was used after: the first was used last of all.
  std::vector<ArenaMap::Position>& latest = latest_;
  std::size_t head = 0;
  latest.clear();
  ArenaWindow window;
  window.first = window.last = arena_.chunk_begin(first_rank);
  while (window.first != end) {
    while (window.last != end && window.bytes < bytes && !arena_.pinned(window.last)) {
      while (latest.size() > head && accessed(latest.back()) <= accessed(window.last)) latest.pop_back();
      latest.push_back(window.last);
      window.bytes += arena_[window.last].bytes;
      window.last = arena_.next(window.last);
    }
    if (window.bytes < bytes) {
      if (window.last == end) break;
      window.first = window.last = arena_.next(window.last);
      window.bytes = 0;
      latest.clear();
      head = 0;
      continue;
    }
    window.cost =
        accessed(latest[head]) + static_cast<double>(window.bytes - bytes) / static_cast<double>(limit_ + 1);
    if (window.cost < best.cost) best = window;
    window.bytes -= arena_[window.first].bytes;
    if (latest[head] == window.first) ++head;
    window.first = arena_.next(window.first);
  }
  return best;
}

// The left end, unless what remains on the left then joins free room there or the last segment is free
// anyway.
std::int64_t Walker::align_in_window(const ArenaWindow& window, std::int64_t bytes) const {
  const auto is_free = [&](ArenaMap::Position k) { return k != ArenaMap::none && arena_[k].is_free(); };
  const bool free_left = is_free(arena_.previous(window.first));
  return free_left && !is_free(window.last) ? arena_[arena_.previous(window.last)].end() - bytes
                                            : arena_[window.first].offset;
}

}  // namespace swapadvisor
