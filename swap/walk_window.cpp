// Where in the arena: the choice of a window.
#include <swapadvisor/swap/walk.h>

#include <algorithm>
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
  for (std::size_t k = window.first; k < window.last && ready < enough; ++k) {
    const ArenaSegment& segment = arena_.segments()[k];
    ready = std::max(ready, segment.since_seconds);
    if (segment.dirty_seconds >= 0) ready = std::max(ready, out_end(segment));
  }
  return ready;
}

// Of the windows that are free by that time, the one that wastes the least room.
inline ArenaWindow Walker::free_window(std::int64_t bytes, double free_by) {
  ArenaWindow best;
  if (arena_.largest_free() < bytes) return best;
  const auto segments = arena_.segments();
  std::int64_t run = 0, longest = 0;  // free at any time
  ArenaWindow window;
  std::size_t behind = 0;  // the segment behind the last free one
  std::size_t looked_at = 0;
  for (std::size_t k = arena_.next_free(0); k < segments.size(); k = arena_.next_free(k + 1)) {
    if (++looked_at > most_looked_at && best.found()) return best;
    if (k != behind) run = window.bytes = 0;
    behind = k + 1;
    run += segments[k].bytes;
    longest = std::max(longest, run);
    if (segments[k].since_seconds > free_by) {
      window.bytes = 0;
      continue;
    }
    if (window.bytes == 0) window.first = k;
    window.bytes += segments[k].bytes;
    window.last = k + 1;
    if (window.bytes == bytes) return window;
    // A run that grows beyond the request is measured at its end.
    const bool ends =
        k + 1 == segments.size() || !segments[k + 1].is_free() || segments[k + 1].since_seconds > free_by;
    if (ends && window.bytes > bytes && (!best.found() || window.bytes < best.bytes)) best = window;
  }
  arena_.set_largest_free(longest);
  return best;
}

// The best window of all segments; of an arena in very many pieces, of a part, another one each time: looking
// at all for each request would take most of the time of a walk.
template <class Find>
ArenaWindow Walker::look_around(Find find) {
  const std::size_t count = arena_.size();
  if (count > most_looked_at) {
    if (rover_ >= count) rover_ = 0;
    const std::size_t first = std::exchange(rover_, rover_ + most_looked_at);
    if (const ArenaWindow window = find(first, std::min(count, first + most_looked_at)); window.found())
      return window;
  }
  return find(0, count);
}

ArenaWindow Walker::cheapest_window(std::int64_t bytes, std::int32_t step, bool copy_in) {
  // A swap-in waits for the ones already listed; whatever is free by then makes nobody wait any longer.
  const double copying = copy_in ? copy_seconds(bytes, h2d_) : 0;
  const double started = end_of(step - 1);
  double no_wait = started - copying;
  if (copy_in)
    no_wait = policy_.fit_copies ? ins_.find(-1, std::max(0.0, no_wait), copying).start
                                 : std::max(no_wait, in_ready_);
  ArenaWindow best = free_window(bytes, no_wait);
  if (best.found()) return best;

  return look_around([&](std::size_t first, std::size_t count) {
    return cheapest_window_in(first, count, bytes, step, no_wait);
  });
}

// Two pointers over segments [first, count): for each first segment the shortest window that is large enough.
// Its cost is what the evictions cost the link, the more the sooner the buffers are needed again, and for how
// long the op waits.
ArenaWindow Walker::cheapest_window_in(std::size_t first, std::size_t count, std::int64_t bytes,
                                       std::int32_t step, double no_wait) {
  const double iteration = ideal_start_[order_.size()];
  price_segments(first, count, ideal_start_[static_cast<std::size_t>(step)], iteration);
  const double waste_cost = 1e-3 * iteration / static_cast<double>(limit_);
  const double* const sizes = arena_.sizes().data();
  const double* const costs = window_costs_.data();
  const auto wanted = static_cast<double>(bytes);
  const double stall_weight = policy_.eviction == WalkPolicy::Eviction::distance ? 0 : policy_.stall_weight;
  ArenaWindow best;
  std::size_t last = first;
  double size = 0, cost = 0;
  while (first < count) {
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
      ArenaWindow window{first, last, static_cast<std::int64_t>(size),
                         std::max(cost, 0.0) + waste_cost * (size - wanted)};
      const double enough = no_wait + (best.cost - window.cost) / stall_weight;
      if (window.cost < best.cost && stall_weight > 0)
        window.cost += stall_weight * std::max(0.0, free_seconds(window, enough) - no_wait);
      if (window.cost < best.cost) best = window;
    }
    cost -= costs[first];
    size -= sizes[first];
    if (++first == last) cost = 0;
  }
  return best;
}

// What evicting each segment costs, in seconds of link time per iteration.
void Walker::price_segments(std::size_t first, std::size_t count, double now, double iteration) {
  window_costs_.resize(arena_.size());
  const double* const evict = arena_.evict_seconds().data();
  const double* const next = arena_.next_uses().data();
  double* const costs = window_costs_.data();
  for (std::size_t k = first; k < count; ++k) costs[k] = evict[k] * iteration / (next[k] - now);
  if (policy_.eviction != WalkPolicy::Eviction::distance) return;
  for (std::size_t k = first; k < count; ++k)
    if (evict[k] > 0 && evict[k] < pinned_cost) costs[k] = iteration / (next[k] - now);
}

// The window whose most recently used buffer was used the longest ago; then the one with the least waste.
ArenaWindow Walker::least_recent_window(std::int64_t bytes) {
  return look_around(
      [&](std::size_t first, std::size_t count) { return least_recent_window_in(first, count, bytes); });
}

ArenaWindow Walker::least_recent_window_in(std::size_t first, std::size_t count, std::int64_t bytes) {
  const auto segments = arena_.segments().first(count);
  const auto accessed = [&](std::size_t k) {
    return segments[k].is_free() ? -2 : state(segments[k].buffer).last_access;
  };
  // Of the window's segments, those that none behind them was used after: the first was used last of all.
  std::vector<std::size_t>& latest = latest_;
  std::size_t head = 0;
  latest.clear();
  ArenaWindow best;
  ArenaWindow window{first, first};
  while (window.first < segments.size()) {
    while (window.last < segments.size() && window.bytes < bytes && !arena_.pinned(window.last)) {
      while (latest.size() > head && accessed(latest.back()) <= accessed(window.last)) latest.pop_back();
      latest.push_back(window.last);
      window.bytes += segments[window.last++].bytes;
    }
    if (window.bytes < bytes) {
      window.first = ++window.last;
      window.bytes = 0;
      latest.clear();
      head = 0;
      continue;
    }
    window.cost =
        accessed(latest[head]) + static_cast<double>(window.bytes - bytes) / static_cast<double>(limit_ + 1);
    if (window.cost < best.cost) best = window;
    window.bytes -= segments[window.first].bytes;
    if (latest[head] == window.first) ++head;
    ++window.first;
  }
  return best;
}

// The left end, unless what remains on the left then joins free room there or the last segment is free
// anyway.
std::int64_t Walker::align_in_window(const ArenaWindow& window, std::int64_t bytes) const {
  const auto segments = arena_.segments();
  const std::int64_t left = segments[window.first].offset;
  const bool free_right = window.last < segments.size() && segments[window.last].is_free();
  const bool free_left = window.first > 0 && segments[window.first - 1].is_free();
  return free_left && !free_right ? segments[window.last - 1].end() - bytes : left;
}

}  // namespace swapadvisor
