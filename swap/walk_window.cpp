// Where in the arena: the choice of a window.
#include <swapadvisor/swap/walk.h>

#include <algorithm>

namespace swapadvisor {

// When the window's readers, and the swap-outs that its eviction takes, are done.
inline double Walker::free_seconds(const ArenaWindow& window) const {
  double ready = 0;
  for (std::size_t k = window.first; k < window.last; ++k) {
    const ArenaSegment& segment = arena_.segments()[k];
    ready = std::max(ready, segment.since_seconds);
    if (segment.dirty_seconds >= 0)
      ready =
          std::max(ready, std::max(out_ready_, segment.dirty_seconds) + copy_seconds(segment.bytes, d2h_));
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
  for (std::size_t k = arena_.next_free(0); k < segments.size(); k = arena_.next_free(k + 1)) {
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

// Two pointers over the segments: for each first segment the shortest window that is large enough. Its cost
// is what the evictions cost the link, the more the sooner the buffers are needed again, and for how long the
// op waits.
ArenaWindow Walker::cheapest_window(std::int64_t bytes, std::int32_t step, bool copy_in) {
  // A swap-in cannot end before the ones already listed; whatever is free by then makes nobody wait any
  // longer.
  const double copying = copy_in ? copy_seconds(bytes, h2d_) : 0;
  const double started = end_of(step - 1);
  const double no_wait = std::max(started - copying, copy_in ? in_ready_ : 0.0);
  ArenaWindow best = free_window(bytes, no_wait);
  if (best.found()) return best;

  const auto segments = arena_.segments();
  const double now = ideal_start_[static_cast<std::size_t>(step)];
  const double iteration = ideal_start_[order_.size()];
  const double waste_cost = 1e-3 * iteration / static_cast<double>(limit_);
  window_costs_.resize(segments.size());
  ArenaWindow window;
  double cost = 0;
  while (window.first < segments.size()) {
    while (window.last < segments.size() && window.bytes < bytes && !segments[window.last].pinned) {
      const ArenaSegment& segment = segments[window.last];
      const double distance = segment.next_use_seconds - now;
      window_costs_[window.last] = segment.is_free() ? 0 : segment.evict_seconds * iteration / distance;
      cost += window_costs_[window.last];
      window.bytes += segment.bytes;
      ++window.last;
    }
    if (window.bytes < bytes) {  // the end, or a pinned segment: go on behind it
      window.first = ++window.last;
      window.bytes = 0;
      cost = 0;
      continue;
    }
    if (cost < best.cost) {
      // Of windows as good as each other, the one that wastes the least room.
      window.cost = std::max(cost, 0.0) + waste_cost * static_cast<double>(window.bytes - bytes);
      if (window.cost < best.cost)
        window.cost += policy_.stall_weight * std::max(0.0, free_seconds(window) - no_wait);
      if (window.cost < best.cost) best = window;
    }
    cost -= window_costs_[window.first];
    window.bytes -= segments[window.first].bytes;
    ++window.first;
    if (window.first == window.last) cost = 0;
  }
  return best;
}

// The window whose most recently used buffer was used the longest ago; then the one with the least waste.
ArenaWindow Walker::least_recent_window(std::int64_t bytes) const {
  const auto segments = arena_.segments();
  ArenaWindow best;
  ArenaWindow window;
  while (window.first < segments.size()) {
    while (window.last < segments.size() && window.bytes < bytes && !segments[window.last].pinned)
      window.bytes += segments[window.last++].bytes;
    if (window.bytes < bytes) {
      window.first = ++window.last;
      window.bytes = 0;
      continue;
    }
    std::int32_t latest = -2;
    for (std::size_t k = window.first; k < window.last; ++k)
      if (!segments[k].is_free()) latest = std::max(latest, state(segments[k].buffer).last_access);
    window.cost = latest + static_cast<double>(window.bytes - bytes) / static_cast<double>(limit_ + 1);
    if (window.cost < best.cost) best = window;
    window.bytes -= segments[window.first].bytes;
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
