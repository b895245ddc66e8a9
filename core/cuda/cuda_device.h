// A GPU as a device: one arena, three non-blocking streams, pinned host memory.
#pragma once

#include <swapadvisor/core/backend.h>

#include <memory>

namespace swapadvisor::cuda {

/// Throws `Error` when there is no driver or no such GPU.
std::unique_ptr<Device> make_cuda_device(const CudaOptions& options);

}  // namespace swapadvisor::cuda
