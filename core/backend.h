// Backends: a device with the kernels for it. The CPU is built in; CUDA is a library that is opened when
// asked for, so that the program links no CUDA and runs where there is none.
#pragma once

#include <swapadvisor/core/device.h>

#include <functional>
#include <memory>
#include <string>

namespace swapadvisor {

/// A device and its kernels. The kernels must not be used after the device is gone.
struct Backend {
  std::unique_ptr<Device> device;
  KernelSet kernels;
};

/// Which GPU, and what its kernels may do.
struct CudaOptions {
  int index = 0;            ///< of the GPU, from 0
  bool allow_tf32 = false;  ///< float32 products in TF32: faster, 10 bits of mantissa
  bool fast = false;        ///< algorithms whose last bits may differ from run to run
  /// Told in one sentence what is not as wanted, such as host memory that could not be pinned. May be empty.
  std::function<void(const std::string&)> warn{};
};

/// Opens the CUDA library, which is looked for in SWAPADVISOR_CUDA_LIBRARY (a path), beside the program, and
/// among the system's libraries; then the GPU. Throws `Error` when there is no library, no driver, no such
/// GPU. The library stays open until the process ends.
Backend open_cuda(const CudaOptions& options);

/// Name and version of the function that a CUDA library must have: libraries of other versions are refused.
inline constexpr const char* cuda_entry_point = "swapadvisor_open_cuda_1";
/// Its type: throws what `open_cuda` does; the caller owns the result.
using CudaEntryPoint = Backend* (*)(const CudaOptions&);

}  // namespace swapadvisor
