// What stays on the device through the iteration boundary: the starts worth trying for a walk.
#pragma once

#include <swapadvisor/swap/walk.h>

#include <algorithm>
#include <span>
#include <vector>

namespace swapadvisor {

/// Staying through the boundary takes two passes at least: what the first, starting with nothing resident,
/// ends with is the start of the second. Calls `closed(start)`, a closed walk of `walker` that returns
/// whether it makes sense to go on, for nothing at all, for that set, and for what of it needed no moving,
/// `passes` times at most; `thorough`: as long again for where the walks of `open(start)`, not closed, end, which
/// returns false, too, when no walk was made.
template <class Closed, class Open>
void try_starts(const Walker& walker, int passes, bool thorough, const Closed& closed, const Open& open) {
  const auto same = [](std::span<const Resident> a, std::span<const Resident> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Resident& x, const Resident& y) {
      return x.buffer == y.buffer && x.offset == y.offset && x.dirty == y.dirty;
    });
  };
  const auto by_offset = [](const Resident& a, const Resident& b) { return a.offset < b.offset; };
  if (!closed(std::vector<Resident>())) return;
  const std::vector<Resident> first(walker.residents_at_last_op().begin(),
                                    walker.residents_at_last_op().end());

  // From where the first pass ended: keep ending there, or keep only what needs no moving.
  std::vector<Resident> start = first, next;
  for (int pass = 0; pass < passes && !start.empty(); ++pass) {
    if (!closed(start)) break;
    next.assign(walker.residents_worth_keeping().begin(), walker.residents_worth_keeping().end());
    std::sort(next.begin(), next.end(), by_offset);
    if (same(start, next)) break;
    start = next;
  }
  if (!thorough) return;
  // Or follow where the walk itself ends, hoping that it settles.
  start = first;
  for (int pass = 0; pass < passes && !start.empty(); ++pass) {
    if (!open(start)) break;
    next.assign(walker.residents_at_last_op().begin(), walker.residents_at_last_op().end());
    if (same(start, next)) break;
    start = next;
    if (!closed(start)) break;
  }
}

}  // namespace swapadvisor
