// The kernels of the CUDA device.
#pragma once

#include <swapadvisor/core/cuda/libraries.h>
#include <swapadvisor/core/kernel.h>

#include <memory>

namespace swapadvisor::cuda {

/// Every op of the CPU device; library calls go through `libraries`.
KernelSet cuda_kernels(std::shared_ptr<const Libraries> libraries);

}  // namespace swapadvisor::cuda
