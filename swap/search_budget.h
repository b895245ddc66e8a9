// What the searches share: when to stop, and how to make candidates on several threads.
#pragma once

#include <swapadvisor/swap/planner.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

namespace swapadvisor {

/// The budget of a request, which must outlive it. A search without one gets 1,000 evaluations.
class SearchBudget {
 public:
  /// The clock starts.
  explicit SearchBudget(const PlanRequest& request)
      : request_(&request), start_(std::chrono::steady_clock::now()) {}

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  std::int64_t evaluations() const {
    constexpr std::int64_t default_evaluations = 1000;
    if (request_->search_evaluations > 0) return request_->search_evaluations;
    return request_->search_seconds > 0 ? std::numeric_limits<std::int64_t>::max() : default_evaluations;
  }
  /// A stop is requested, or the clock has run out.
  bool interrupted() const {
    return request_->stop.stop_requested() ||
           (request_->search_seconds > 0 && seconds() >= request_->search_seconds);
  }
  /// How much is spent, from 0 to 1 and beyond.
  double share(std::int64_t evaluations_done) const {
    const double by_count = static_cast<double>(evaluations_done) / static_cast<double>(evaluations());
    return request_->search_seconds > 0 ? std::max(by_count, seconds() / request_->search_seconds) : by_count;
  }
  bool spent(std::int64_t evaluations_done) const {
    return interrupted() || evaluations_done >= evaluations();
  }

 private:
  const PlanRequest* request_;
  std::chrono::steady_clock::time_point start_;
};

/// Calls make(i, evaluator) for each i in [0, count), one thread per evaluator; a thread ends when it returns
/// false.
template <class Evaluator, class Make>
void make_in_parallel(std::vector<std::unique_ptr<Evaluator>>& evaluators, std::size_t count,
                      const Make& make) {
  std::atomic<std::size_t> next{0};
  const auto work = [&](Evaluator& evaluator) {
    for (std::size_t i = next++; i < count && make(i, evaluator); i = next++) continue;
  };
  std::vector<std::jthread> threads;
  for (std::size_t t = 1; t < evaluators.size(); ++t) threads.emplace_back(work, std::ref(*evaluators[t]));
  work(*evaluators.front());
}

}  // namespace swapadvisor
