#include <swapadvisor/core/program.h>
#include <swapadvisor/memory/placement.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace swapadvisor {
namespace {

/// Beyond this many items, greedy placement by size handles the largest only.
constexpr std::size_t most_by_size = 6000;

std::int64_t aligned(const PlacementItem& item) {
  return round_up(item.bytes, arena_alignment);
}

/// Events of a walk through time: at each time first the allocations, then (times being inclusive) the frees.
struct Events {
  std::vector<std::int32_t> by_first, by_last;

  Events(std::span<const PlacementItem> items, std::span<const std::int32_t> chosen) {
    by_first.assign(chosen.begin(), chosen.end());
    by_last = by_first;
    const auto item = [&](std::int32_t i) -> const PlacementItem& {
      return items[static_cast<std::size_t>(i)];
    };
    std::stable_sort(by_first.begin(), by_first.end(), [&](std::int32_t a, std::int32_t b) {
      return std::pair(item(a).first, -item(a).bytes) < std::pair(item(b).first, -item(b).bytes);
    });
    std::stable_sort(by_last.begin(), by_last.end(),
                     [&](std::int32_t a, std::int32_t b) { return item(a).last < item(b).last; });
  }
};

/// Free memory above `base` by address and by size, growing at the top without limit.
class BestFit {
 public:
  explicit BestFit(std::int64_t base) : top_(base) {}

  std::int64_t take(std::int64_t bytes) {
    auto found = by_size_.lower_bound({bytes, 0});
    if (found == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *found;
    erase(offset, size);
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }

  void give(std::int64_t offset, std::int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      const auto [next_offset, next_bytes] = *next;
      erase(next_offset, next_bytes);
    }
    auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.begin()) {
      const auto [before_offset, before_bytes] = *std::prev(after);
      if (before_offset + before_bytes == offset) {
        erase(before_offset, before_bytes);
        offset = before_offset;
        bytes += before_bytes;
      }
    }
    insert(offset, bytes);
  }

  std::int64_t top() const { return top_; }

 private:
  std::int64_t grow(std::int64_t bytes) {
    std::int64_t offset = top_;
    if (!by_offset_.empty()) {
      const auto [last_offset, last_bytes] = *by_offset_.rbegin();
      if (last_offset + last_bytes == top_) {  // the free tail is too small: extend it
        erase(last_offset, last_bytes);
        offset = last_offset;
      }
    }
    top_ = offset + bytes;
    return offset;
  }

  void insert(std::int64_t offset, std::int64_t bytes) {
    by_offset_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }

  void erase(std::int64_t offset, std::int64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<std::int64_t, std::int64_t> by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t top_;
};

/// Places `chosen` above `base` in order of time; returns the end of the highest.
std::int64_t place_by_time(std::span<const PlacementItem> items, std::span<const std::int32_t> chosen,
                           std::int64_t base, std::vector<std::int64_t>& offsets) {
  const Events events(items, chosen);
  BestFit memory(base);
  std::size_t freed = 0;
  for (std::int32_t i : events.by_first) {
    const PlacementItem& item = items[static_cast<std::size_t>(i)];
    for (; freed < events.by_last.size(); ++freed) {
      const auto done = static_cast<std::size_t>(events.by_last[freed]);
      if (items[done].last >= item.first) break;
      memory.give(offsets[done], aligned(items[done]));
    }
    offsets[static_cast<std::size_t>(i)] = memory.take(aligned(item));
  }
  return memory.top();
}

/// Places `chosen`, already sorted by size, each in the smallest gap left by those it meets in time.
std::int64_t place_by_size(std::span<const PlacementItem> items, std::span<const std::int32_t> chosen,
                           std::vector<std::int64_t>& offsets) {
  struct Placed {
    std::int64_t offset, end;
    std::int32_t first, last;
  };
  std::vector<Placed> placed;  // by offset
  placed.reserve(chosen.size());
  std::int64_t top = 0;
  for (std::int32_t i : chosen) {
    const PlacementItem& item = items[static_cast<std::size_t>(i)];
    const std::int64_t need = aligned(item);
    std::int64_t free_from = 0, best = -1, best_gap = 0;
    for (const Placed& p : placed) {
      if (p.last < item.first || p.first > item.last) continue;
      const std::int64_t gap = p.offset - free_from;
      if (gap >= need && (best < 0 || gap < best_gap)) {
        best = free_from;
        best_gap = gap;
      }
      free_from = std::max(free_from, p.end);
    }
    if (best < 0) best = free_from;
    const Placed entry{best, best + need, item.first, item.last};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), entry,
                                   [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
                  entry);
    offsets[static_cast<std::size_t>(i)] = best;
    top = std::max(top, entry.end);
  }
  return top;
}

}  // namespace

std::int64_t peak_live_bytes(std::span<const PlacementItem> items) {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // (time, bytes)
  changes.reserve(items.size() * 2);
  for (const PlacementItem& item : items) {
    changes.emplace_back(item.first, aligned(item));
    changes.emplace_back(std::int64_t{item.last} + 1, -aligned(item));
  }
  std::sort(changes.begin(), changes.end());  // frees of a time come first: they are negative
  std::int64_t live = 0, peak = 0;
  for (const auto& [time, bytes] : changes) peak = std::max(peak, live += bytes);
  return peak;
}

Placement place(std::span<const PlacementItem> items) {
  std::vector<std::int32_t> by_size(items.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::int32_t a, std::int32_t b) {
    const PlacementItem &x = items[static_cast<std::size_t>(a)], &y = items[static_cast<std::size_t>(b)];
    return std::pair(aligned(x), x.last - x.first) > std::pair(aligned(y), y.last - y.first);
  });
  Placement best;
  best.offsets.resize(items.size());
  const std::span<const std::int32_t> all(by_size);
  const std::size_t large = std::min(all.size(), most_by_size);
  best.bytes = place_by_size(items, all.first(large), best.offsets);
  best.bytes = place_by_time(items, all.subspan(large), best.bytes, best.offsets);
  if (best.bytes == peak_live_bytes(items)) return best;

  Placement other;
  other.offsets.resize(items.size());
  other.bytes = place_by_time(items, all, 0, other.offsets);
  return other.bytes < best.bytes ? other : best;
}

}  // namespace swapadvisor
