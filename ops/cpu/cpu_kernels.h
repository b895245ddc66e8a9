// The kernels of the CPU device.
#pragma once

#include <swapadvisor/core/kernel.h>

namespace swapadvisor {

/// The fastest kernel of every op: float32 convolutions and matrix products on oneDNN where it is built in,
/// the portable ones otherwise and for float64.
KernelSet cpu_kernels();

/// Every op in float32 and float64 without oneDNN.
KernelSet portable_kernels();

}  // namespace swapadvisor
