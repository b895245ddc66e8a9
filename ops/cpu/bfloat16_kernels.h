// bf16 for kernels that know only float32.
#pragma once

#include <swapadvisor/core/kernel.h>

namespace swapadvisor {

/// `set`, whose kernels take bf16 operands too. Most are the float32 kernels between two conversions: bf16
/// operands are widened into workspace that the planner knows of, results are rounded to nearest, ties to
/// even. Ops that move or convert elements, and the simplest maps, have loops of their own and are left as
/// they are.
KernelSet with_bfloat16(const KernelSet& set);

}  // namespace swapadvisor
