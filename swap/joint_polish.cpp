// Steps that only improve: what the best candidate runs again is left out, a little at a time.
#include <swapadvisor/swap/joint_search.h>

#include <algorithm>
#include <numeric>

namespace swapadvisor {

namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

// Sets of values are chosen by prices that are smooth along the order, so near a good plan some are made
// again though the link had room for them just then. The most expensive runs first; passes end when one finds
// nothing.
void JointSearch::drop_recomputes() {
  constexpr std::size_t at_a_time = 8;
  if (best_.again.empty()) return;
  for (double before = 0; before != best_.seconds && !done();) {
    before = best_.seconds;
    std::vector<std::size_t> places;  // in toggles_
    for (std::size_t k = 0; k < toggles_.size(); ++k)
      if (best_.again[index(toggles_[k])] != 0) places.push_back(k);
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      const std::vector<PlanOp>& ops = table_->graph().ops;
      return ops[index(toggles_[a])].seconds > ops[index(toggles_[b])].seconds;
    });
    for (std::size_t begin = 0; begin < places.size() && !done(); begin += at_a_time) {
      const JointCandidate base = best_;
      const std::size_t count = std::min(at_a_time, places.size() - begin);
      const auto drop = [&](JointCandidate& candidate, std::size_t i) {
        candidate.again[index(toggles_[places[begin + i]])] = 0;
      };
      const std::vector<JointCandidate> made =
          batch(count, [&](std::size_t i, JointCandidate& candidate, JointEvaluator& evaluator) {
            candidate = base;
            drop(candidate, i);
            evaluator.evaluate(candidate);
          });
      // Those that are not missed each are often not missed together.
      std::vector<std::size_t> better;
      for (std::size_t i = 0; i < count; ++i)
        if (!made[i].order.empty() && made[i].seconds < base.seconds) better.push_back(i);
      if (better.size() < 2) continue;
      batch(1, [&](std::size_t, JointCandidate& candidate, JointEvaluator& evaluator) {
        candidate = base;
        for (std::size_t i : better) drop(candidate, i);
        evaluator.evaluate(candidate);
      });
    }
  }
}

}  // namespace swapadvisor
