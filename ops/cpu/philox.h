// Philox on many counters at once, for kernels that draw as many random numbers as they have elements.
#pragma once

#include <swapadvisor/core/rng.h>

namespace swapadvisor {

/// Draws that one call makes.
inline constexpr int draw_batch_size = 128;

/// bits[i] = random.bits(draw_batch_size·batch + i) for i in [0, draw_batch_size): exactly the draws of
/// `RandomStream`.
void draw_batch(const RandomStream& random, std::uint64_t batch, std::uint32_t* bits);

}  // namespace swapadvisor
