// What the waits of a plan say about the prices of kept values.
#include <swapadvisor/swap/joint_search.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <vector>

namespace swapadvisor {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// One stream of copies in one iteration of a timeline, in list order: who is busy just before a run starts.
class CopyStream {
 public:
  CopyStream(const FlatProgram& flat, const Timeline& timeline, StreamKind kind, std::int32_t iteration) {
    const auto first = index(iteration) * index(timeline.instructions);
    for (std::int32_t i = 0; i < flat.size(); ++i)
      if (flat.stream[index(i)] == kind)
        copies_.push_back({i, timeline.start[first + index(i)], timeline.end[first + index(i)]});
  }

  struct Copy {
    std::int32_t instruction;
    double start, end;
  };

  /// Copies without a pause between them, the last of which ends when `time` comes; empty when none does.
  std::span<const Copy> busy_until(double time, double tolerance) const {
    const auto later = std::upper_bound(copies_.begin(), copies_.end(), time + tolerance,
                                        [](double t, const Copy& copy) { return t < copy.end; });
    if (later == copies_.begin() || std::prev(later)->end < time - tolerance) return {};
    auto first = std::prev(later);
    while (first != copies_.begin() && first->start <= std::prev(first)->end + tolerance) --first;
    return {first, later};
  }

 private:
  std::vector<Copy> copies_;
};

}  // namespace

void JointEvaluator::price_waits(JointCandidate& candidate, double step) {
  constexpr std::int32_t iteration = 1;  // the first has nothing before it
  evaluate(candidate);
  if (!std::isfinite(candidate.seconds)) return;
  simulator_.timeline(flat_, iteration + 2, timeline_);
  const double tolerance = candidate.seconds * 1e-9;
  const InstructionList& list = instructions();
  const CopyStream in(flat_, timeline_, StreamKind::in, iteration);
  const CopyStream out(flat_, timeline_, StreamKind::out, iteration);
  pressure_.assign(table_->buffer_count(), 0);
  const auto first = index(iteration) * index(timeline_.instructions);
  double free_since = 0;
  for (std::int32_t i = 0; i < flat_.size(); ++i) {
    if (flat_.stream[index(i)] != StreamKind::compute) continue;
    const double start = timeline_.start[first + index(i)];
    const double wait = free_since > 0 ? start - free_since : 0;
    free_since = timeline_.end[first + index(i)];
    if (wait <= tolerance) continue;
    const auto press = [&](std::span<const CopyStream::Copy> busy) {
      if (busy.empty()) return;
      const double share = wait / (busy.back().end - busy.front().start);
      for (const CopyStream::Copy& copy : busy)
        pressure_[index(list.entries[index(copy.instruction)].target)] += share;
    };
    const auto busy_in = in.busy_until(start, tolerance);
    press(busy_in);
    // A swap-in may have waited for the room that a swap-out leaves.
    press(out.busy_until(busy_in.empty() ? start : busy_in.front().start, tolerance));
  }
  for (std::size_t b = 0; b < pressure_.size(); ++b)
    candidate.prices[b] *= std::exp(std::min(2.0, step * pressure_[b]));
}

}  // namespace swapadvisor
