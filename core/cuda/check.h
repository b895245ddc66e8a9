// CUDA runtime calls, checked.
#pragma once

#include <cuda_runtime_api.h>
#include <swapadvisor/core/error.h>

#include <string_view>

namespace swapadvisor::cuda {

/// Throws `Error` with one sentence unless `status` is success. `what`: what was being done, such as "copy to
/// the device".
void check(cudaError_t status, std::string_view what);

}  // namespace swapadvisor::cuda
