// The arena's segments against a plain list of them, through thousands of random requests.
#include <gtest/gtest.h>
#include <swapadvisor/swap/arena_map.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

namespace swapadvisor {
namespace {

/// The same segments in a plain vector.
struct PlainArena {
  std::vector<ArenaSegment> segments;

  std::size_t find(std::int64_t offset) const {
    std::size_t k = 0;
    while (segments[k].end() <= offset) ++k;
    return k;
  }

  void join(std::size_t left, std::int32_t merge_up_to) {
    if (left + 1 >= segments.size()) return;
    ArenaSegment& a = segments[left];
    const ArenaSegment& b = segments[left + 1];
    if (!a.is_free() || !b.is_free() || std::max(a.since, b.since) > merge_up_to) return;
    a.bytes += b.bytes;
    a.since = std::max(a.since, b.since);
    a.since_seconds = std::max(a.since_seconds, b.since_seconds);
    segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(left) + 1);
  }

  void release(std::size_t k, std::int32_t since, double seconds, std::int32_t merge_up_to) {
    segments[k] = {segments[k].offset, segments[k].bytes, ArenaSegment::free, since, seconds};
    join(k, merge_up_to);
    if (k > 0) join(k - 1, merge_up_to);
  }

  void occupy(std::int64_t offset, std::int64_t bytes, std::int32_t buffer) {
    const std::size_t first = find(offset), last = find(offset + bytes - 1);
    ArenaSegment left = segments[first], right = segments[last];
    left.bytes = offset - left.offset;
    right.bytes = right.end() - (offset + bytes);
    right.offset = offset + bytes;
    std::vector<ArenaSegment> parts;
    if (left.bytes > 0) parts.push_back(left);
    parts.push_back({offset, bytes, buffer});
    if (right.bytes > 0) parts.push_back(right);
    const auto at = segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(first),
                                   segments.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    segments.insert(at, parts.begin(), parts.end());
  }
};

void expect_same(const ArenaMap& arena, const PlainArena& plain) {
  ASSERT_EQ(arena.size(), plain.segments.size());
  ArenaMap::Position at = arena.first();
  for (const ArenaSegment& segment : plain.segments) {
    ASSERT_NE(at, ArenaMap::none);
    ASSERT_EQ(arena[at].offset, segment.offset);
    ASSERT_EQ(arena[at].bytes, segment.bytes);
    ASSERT_EQ(arena[at].buffer, segment.buffer);
    ASSERT_EQ(arena[at].since, segment.since);
    ASSERT_EQ(arena[at].since_seconds, segment.since_seconds);
    ASSERT_EQ(arena.find(segment.end() - 1), at);
    ASSERT_EQ(arena.previous(arena.next(at)), at);
    at = arena.next(at);
  }
  ASSERT_EQ(at, ArenaMap::none);
}

// What is known of whole chunks, against their segments.
void expect_chunks_right(ArenaMap& arena) {
  for (std::size_t rank = 0; rank < arena.chunk_count(); ++rank) {
    std::int64_t run = 0, longest = 0, at_begin = 0;
    double earliest = ArenaMap::far_future, bytes = 0, free_bytes = 0, latest = 0;
    bool all = true;
    for (ArenaMap::Position at = arena.chunk_begin(rank); at != arena.chunk_end(rank); ++at) {
      const bool free = arena[at].is_free();
      ASSERT_EQ(arena.rank_of(at), rank);
      ASSERT_EQ((arena.free_bits(rank) >> (at - arena.chunk_begin(rank)) & 1U) != 0, free);
      all = all && free;
      run = free ? run + arena[at].bytes : 0;
      longest = std::max(longest, run);
      if (all) at_begin = run;
      bytes += static_cast<double>(arena[at].bytes);
      if (free) free_bytes += static_cast<double>(arena[at].bytes);
      if (free) earliest = std::min(earliest, arena[at].since_seconds);
      if (!free && !arena.pinned(at)) latest = std::max(latest, arena.next_use(at));
    }
    const ArenaMap::FreeRuns runs = arena.free_runs(rank);
    ASSERT_EQ(runs.longest, longest);
    ASSERT_EQ(runs.at_begin, at_begin);
    ASSERT_EQ(runs.at_end, run);
    ASSERT_EQ(runs.earliest, earliest);
    ASSERT_EQ(runs.all, all);
    const ArenaMap::EvictionBound bound = arena.eviction_bound(rank);
    ASSERT_EQ(bound.bytes, bytes);
    ASSERT_EQ(bound.free_bytes, free_bytes);
    ASSERT_EQ(bound.latest_use, latest);
  }
}

TEST(ArenaMap, AgreesWithAPlainList) {
  std::mt19937 random(7);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  constexpr std::int64_t end = 20000;
  std::size_t most_chunks = 0;
  for (int round = 0; round < 4; ++round) {
    ArenaMap arena;
    arena.reset(0, end);
    PlainArena plain{{{0, end}}};
    const std::int64_t largest = round < 2 ? 60 : 600;
    for (std::int32_t step = 0; step < 1500; ++step) {
      const auto k = static_cast<std::size_t>(below(static_cast<std::int64_t>(plain.segments.size())));
      const ArenaSegment segment = plain.segments[k];
      if (!segment.is_free()) {
        if (below(2) == 0) continue;
        const auto since = static_cast<std::int32_t>(below(100)),
                   merge = static_cast<std::int32_t>(below(100));
        const ArenaMap::Position now = arena.release(arena.find(segment.offset), since, 0.5 * since, merge);
        plain.release(k, since, 0.5 * since, merge);
        ASSERT_TRUE(arena[now].offset <= segment.offset && segment.end() <= arena[now].end());
      } else {
        std::int64_t room = segment.bytes;
        for (std::size_t next = k + 1; next < plain.segments.size() && plain.segments[next].is_free(); ++next)
          room += plain.segments[next].bytes;
        const std::int64_t skipped = below(2) == 0 ? 0 : below(segment.bytes);
        const std::int64_t bytes = 1 + below(std::min(largest, room - skipped));
        const ArenaMap::Position at = arena.occupy(segment.offset + skipped, bytes, step);
        plain.occupy(segment.offset + skipped, bytes, step);
        ASSERT_TRUE(arena.pinned(at));
        if (below(4) != 0) arena.set_eviction(at, 1 + static_cast<double>(below(9)), step);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(arena, plain)) << "round " << round << ", step " << step;
      ASSERT_NO_FATAL_FAILURE(expect_chunks_right(arena)) << "round " << round << ", step " << step;
      most_chunks = std::max(most_chunks, arena.chunk_count());
    }
  }
  EXPECT_GT(most_chunks, 5U);
}

}  // namespace
}  // namespace swapadvisor
