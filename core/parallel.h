// Threads inside a kernel: OpenMP where it is built in, else the calling thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace swapadvisor {

/// Sizes the calling thread's OpenMP team: what kernels that are prepared or run on it will use.
void set_thread_count(int threads);

/// Prepares the calling thread to run kernels on `threads` threads: sizes its team, and sets flush-to-zero and
/// denormals-are-zero on every thread of it (near-denormal data is many times slower otherwise). For threads that do
/// nothing but run kernels: reading files or initialising weights there would lose denormals.
void use_as_compute_thread(int threads);

/// Threads that `parallel_for` uses on the calling thread.
int thread_count();

namespace detail {
void run_team(int threads, void (*body)(void*, int), void* context);
}

/// Calls f(begin, end) on disjoint pieces of [0, n), at most one per thread and none smaller than `grain` unless n is.
/// The pieces depend on n, grain and the thread count only. `f` must not throw.
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
  const std::int64_t most = std::max<std::int64_t>(1, n / std::max<std::int64_t>(1, grain));
  const auto pieces = static_cast<int>(std::min<std::int64_t>(thread_count(), most));
  if (pieces <= 1) {
    if (n > 0) f(std::int64_t{0}, n);
    return;
  }
  struct Context {
    F* f;
    std::int64_t n, pieces;
  } context{&f, n, pieces};
  detail::run_team(
      pieces,
      [](void* raw, int i) {
        auto& c = *static_cast<Context*>(raw);
        (*c.f)(c.n * i / c.pieces, c.n * (i + 1) / c.pieces);
      },
      &context);
}

}  // namespace swapadvisor
