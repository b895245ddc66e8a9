// Whether a Program is well formed: the checks that need no unrolling.
#pragma once

#include <swapadvisor/core/program.h>

namespace swapadvisor {

/// Throws `Error` unless every target, buffer and wait is in range and every instruction has as many offsets
/// as it has operands: what the simulator and the executor take for granted. The graph itself has passed
/// `check`.
void check_indices(const Program& program);

/// `check_indices`, and throws `Error` unless every offset is aligned and inside the arena, the arena within
/// the device, the operands of each run disjoint where they must be, residents persistent, unique and
/// disjoint, and `host_bytes` enough and within the device's host memory.
void check_structure(const Program& program);

/// "instruction 7 (swap_in of 'w')": for messages.
std::string describe(const Program& program, std::size_t instruction);

}  // namespace swapadvisor
