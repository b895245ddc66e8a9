#include <swapadvisor/core/parallel.h>

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace swapadvisor {
namespace {

void flush_denormals() {
#ifdef __SSE2__
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
#endif
}

}  // namespace

#ifdef _OPENMP

void set_thread_count(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(std::max(1, threads));
}

void use_as_compute_thread(int threads) {
  set_thread_count(threads);
#pragma omp parallel
  flush_denormals();
}

int thread_count() { return omp_get_max_threads(); }

void detail::run_team(int threads, void (*body)(void*, int), void* context) {
  // One piece per iteration: right even when the runtime grants fewer threads than asked for.
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int i = 0; i < threads; ++i) body(context, i);
}

#else

void set_thread_count(int) {}

void use_as_compute_thread(int) { flush_denormals(); }

int thread_count() { return 1; }

void detail::run_team(int threads, void (*body)(void*, int), void* context) {
  for (int i = 0; i < threads; ++i) body(context, i);
}

#endif

}  // namespace swapadvisor
