// The verifier: a proof, independent of every planner, that a Program computes what its graph says.
#pragma once

#include <swapadvisor/core/program.h>

#include <string>

namespace swapadvisor {

/// What the verifier found.
struct Verdict {
  bool valid = false;
  std::string error;  ///< the first violation, in one sentence; empty when valid
};

/// Proves over three unrolled iterations: the program is well formed (`check_structure`); every read finds
/// the value that the graph's own op order defines, whole and of the right iteration; all conflicting
/// accesses to an address range or a host slot are ordered by stream order and waits; every op runs, again
/// only where that is allowed; outputs are in their host slot when the iteration ends; persistent values
/// survive, residents at their address, equal to the host copy where `dirty` is false.
///
/// The list order is one linearisation of happens-before. Walking it, every access is compared with the
/// earlier conflicting ones by vector clocks over the three streams; as all those are ordered, contents
/// followed in list order are the contents of every execution. Of the host it is assumed that at most two
/// iterations are in flight: before iteration k + 2 starts, the loader has refilled the input slots of k, and
/// its outputs were read.
///
/// O(n log n) in the number of instructions and operands. Pure: any number of threads may call it.
Verdict verify(const Program& program);

}  // namespace swapadvisor
