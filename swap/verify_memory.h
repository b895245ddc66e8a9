// Contents and access history of device memory and host slots. Internal to the verifier.
#pragma once

#include <swapadvisor/swap/verify_clocks.h>
#include <swapadvisor/swap/verify_values.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace swapadvisor::verifier {

/// What one piece of memory holds, and who accessed it last. Of the readers since the last write only the
/// latest of each stream counts: stream order covers the others.
struct Cell {
  Tag content = no_value;
  Event writer;
  std::array<std::int64_t, stream_count> reader = {-1, -1, -1};

  void note_read(const Event& event) { reader[static_cast<std::size_t>(event.stream)] = event.index; }

  /// An access of the cell that conflicts with the current one and is not ordered before it.
  std::optional<Event> race(const Clocks& clocks, bool write) const {
    if (!clocks.ordered(writer)) return writer;
    for (std::size_t s = 0; write && s < reader.size(); ++s) {
      const Event read{static_cast<StreamKind>(s), reader[s]};
      if (!clocks.ordered(read)) return read;
    }
    return std::nullopt;
  }
};

/// Device memory by exact byte ranges.
class DeviceMemory {
 public:
  /// A cell that was never accessed holds no value and has no writer.
  struct Range {
    std::int64_t end = 0;
    bool whole = true;  ///< false once a write destroyed a part: what is left is no value any more
    Cell cell;
  };

  /// Calls `visit(begin, range)` for every accessed range that overlaps [begin, end).
  template <class Visit>
  void for_each(std::int64_t begin, std::int64_t end, Visit visit) {
    for (auto it = first(begin); it != ranges_.end() && it->first < end; ++it) visit(it->first, it->second);
  }

  /// The range that is exactly [begin, end) and whole; null when there is none.
  Range* find(std::int64_t begin, std::int64_t end) {
    const auto it = ranges_.find(begin);
    return it != ranges_.end() && it->second.end == end && it->second.whole ? &it->second : nullptr;
  }

  /// Makes [begin, end) one range; what it cuts of others keeps its history and loses its content.
  void replace(std::int64_t begin, std::int64_t end, const Cell& cell) {
    auto it = first(begin);
    while (it != ranges_.end() && it->first < end) {
      const std::int64_t old_begin = it->first;
      Range rest = it->second;
      rest.whole = false;
      it = ranges_.erase(it);
      if (old_begin < begin) {
        Range left = rest;
        left.end = begin;
        ranges_.emplace(old_begin, left);
      }
      if (rest.end > end) it = ranges_.emplace(end, rest).first;
    }
    ranges_.insert_or_assign(begin, Range{end, true, cell});
  }

 private:
  std::map<std::int64_t, Range>::iterator first(std::int64_t begin) {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second.end > begin) --it;
    return it;
  }

  std::map<std::int64_t, Range> ranges_;  // by first byte; disjoint
};

}  // namespace swapadvisor::verifier
