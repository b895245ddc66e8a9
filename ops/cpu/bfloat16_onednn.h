// bf16 by oneDNN, on processors that multiply it (AVX-512 BF16, AMX).
#pragma once

#include <swapadvisor/core/kernel.h>

namespace swapadvisor {

/// Does this processor multiply bf16, and does oneDNN use it?
bool onednn_multiplies_bfloat16();

/// A kernel for matmul or batched_matmul by oneDNN's matmul primitive, in the operands' type (f32 or bf16),
/// with sums in f32; null where oneDNN has none but its plain reference code.
std::unique_ptr<Kernel> onednn_product(const KernelRequest& request);

}  // namespace swapadvisor
