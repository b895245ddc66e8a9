// Independent pieces of work on several threads.
#pragma once

#include <swapadvisor/core/error.h>
#include <swapadvisor/experiments/experiment.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace swapadvisor {

/// Calls work(i) for each i in [0, count), in that order of starting, on `options.threads` threads, and
/// reports progress. Throws the first error of a piece, and `Error` when interrupted.
template <class F>
void run_in_parallel(std::size_t count, const ExperimentOptions& options, const F& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::int64_t done = 0;
  std::exception_ptr error;
  const auto run = [&] {
    for (std::size_t i = next++; i < count && !options.stop.stop_requested(); i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = count;
      }
      const std::lock_guard lock(mutex);
      ++done;
      if (options.progress) options.progress(done, static_cast<std::int64_t>(count));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int t = 1; t < options.threads; ++t) threads.emplace_back(run);
    run();
  }
  if (error) std::rethrow_exception(error);
  if (options.stop.stop_requested()) fail("interrupted");
}

}  // namespace swapadvisor
