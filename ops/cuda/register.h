// Families of CUDA kernels. Each function adds the factories of its op types to a kernel set.
#pragma once

#include <swapadvisor/core/cuda/libraries.h>
#include <swapadvisor/core/kernel.h>

#include <memory>

namespace swapadvisor::cuda {

using SharedLibraries = std::shared_ptr<const Libraries>;

/// scale, fill.
void add_fill_kernels(KernelSet& set);

}  // namespace swapadvisor::cuda
