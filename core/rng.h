// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
// A draw is a pure function of (key, counter), so any draw can be made again, on any thread and in any order.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace swapadvisor {

/// Counter or output of Philox.
using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Ten rounds of Philox4x32 on `counter` under the 64-bit `key`.
constexpr PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

/// A stream of draws: `draw(i)` is draw number i of the stream `id` at `step`. Thread-safe (it has no state).
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint32_t id = 0;
  std::uint32_t step = 0;

  constexpr std::uint32_t bits(std::uint64_t i) const {
    const std::uint64_t block = i / 4;
    const PhiloxBlock counter{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), step, id};
    return philox(counter, seed)[i % 4];
  }
  /// Uniform in the open interval (0, 1), with 32 bits.
  constexpr double uniform(std::uint64_t i) const { return (bits(i) + 0.5) * 0x1p-32; }
  /// Standard normal (Box–Muller on draws 2i and 2i+1).
  double normal(std::uint64_t i) const;
  /// Uniform integer in [0, n).
  constexpr std::uint32_t below(std::uint64_t i, std::uint32_t n) const {
    return static_cast<std::uint32_t>((std::uint64_t{bits(i)} * n) >> 32);
  }
};

/// 64-bit FNV-1a hash: turns a name into a seed or an id that does not depend on build order.
constexpr std::uint64_t hash_name(std::string_view name, std::uint64_t start = 0xcbf29ce484222325) {
  for (char c : name) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return start;
}

}  // namespace swapadvisor
