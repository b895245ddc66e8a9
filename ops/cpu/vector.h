// How inner loops are vectorised: plain loops in multiversioned functions. FMA contraction is off for this
// folder, so all versions give the same bits.
#pragma once

#include <swapadvisor/ops/cpu/multiversion.h>

#include <cstdint>

// For bodies shared by several functions: each version inlines its own copy.
#if defined(__GNUC__)
#define SWAPADVISOR_INLINE inline __attribute__((always_inline))
#else
#define SWAPADVISOR_INLINE inline
#endif

// Before a loop whose iterations are independent, though an output may be the very memory of an input (in
// place).
#if defined(__GNUC__) && !defined(__clang__)
#define SWAPADVISOR_VECTORISE _Pragma("GCC ivdep")
#else
#define SWAPADVISOR_VECTORISE
#endif

namespace swapadvisor {

/// Fewest elements that are worth a thread, for loops of a few operations per element.
inline constexpr std::int64_t elementwise_grain = 16384;

/// Accumulators in horizontal reductions: a fixed number, so that sums do not depend on the vector length.
/// GCC unrolls loops of up to 16 iterations before it looks for vectors, so it is more than that.
inline constexpr int reduction_lanes = 32;

}  // namespace swapadvisor
