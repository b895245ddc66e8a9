// Greedy orders that bring together what uses the same data.
#pragma once

#include <swapadvisor/swap/dependencies.h>
#include <swapadvisor/swap/op_table.h>

#include <cstdint>
#include <vector>

namespace swapadvisor {

/// What an op costs a greedy order, in bytes: `missing` of what it reads and is not on the device, `growth`
/// of what it allocates beyond what it frees.
struct AffinityWeights {
  double missing = 1;
  double growth = 1;
  /// The order is made from its end: what an op allocates is then what it reads last. Brings weight gradients
  /// and updates right behind what they need.
  bool from_end = false;
};

/// Each step takes the ready op with the least cost against a model of what is resident in `capacity` bytes
/// (least recently used leaves first); the first in the graph's list of equals. Keeps all uses of a parameter
/// together where dependencies allow it: time steps of a recurrent layer, updates next to their gradients.
/// O(ops × ready ops).
std::vector<std::int32_t> affinity_order(const OpTable& table, const Dependencies& dependencies,
                                         std::int64_t capacity, const AffinityWeights& weights);

}  // namespace swapadvisor
