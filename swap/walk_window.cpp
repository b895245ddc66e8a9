// Where in the arena: the choice of a window.
#include <swapadvisor/swap/walk.h>

#include <algorithm>

namespace swapadvisor {

// Seconds for which the op would wait for this window: for its readers and swap-outs and, when it is for a
// swap-in, for the copy.
double Walker::stall(const ArenaWindow& window, std::int64_t bytes, std::int32_t step, bool copy_in) const {
  double ready = copy_in ? in_ready_ : 0;
  for (std::size_t k = window.first; k < window.last; ++k) {
    const ArenaSegment& segment = arena_.segments()[k];
    if (segment.is_free()) {
      ready = std::max(ready, segment.since_seconds);
      continue;
    }
    const State& s = state(segment.buffer);
    ready = std::max(ready, end_of(s.last_access));
    if (s.dirty)
      ready = std::max(ready, std::max(out_ready_, end_of(s.last_write)) + copy_seconds(segment.bytes, d2h_));
  }
  if (copy_in) ready += copy_seconds(bytes, h2d_);
  return std::max(0.0, ready - end_of(step - 1));
}

// Two pointers over the segments: for each first segment the shortest window that is large enough.
ArenaWindow Walker::cheapest_window(std::int64_t bytes, std::int32_t step, bool copy_in) {
  const auto segments = arena_.segments();
  const double now = ideal_start_[static_cast<std::size_t>(step)];
  const double iteration = ideal_start_[order_.size()];
  window_costs_.resize(segments.size());
  ArenaWindow best;
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
    // Of windows as good as each other, the one that wastes the least room.
    const double waste = static_cast<double>(window.bytes - bytes) / static_cast<double>(limit_);
    window.cost = std::max(cost, 0.0) + 1e-3 * iteration * waste;
    if (window.cost < best.cost) {
      window.cost += policy_.stall_weight * stall(window, bytes, step, copy_in);
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
