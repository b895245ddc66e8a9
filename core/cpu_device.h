// The CPU as a device: an arena of real memory, three worker threads as streams, real copies, and an optional link
// speed, so that everything the executor does on a GPU happens here too.
#pragma once

#include <swapadvisor/core/device.h>

#include <memory>

namespace swapadvisor {

/// How much of the machine the CPU device uses.
struct CpuDeviceOptions {
  int threads = 0;                        ///< of the compute stream; 0: all cores
  double link_bytes_per_second = 0;       ///< each direction; 0: as fast as memory copies
  std::int64_t memory_bytes = 0;          ///< what `free_bytes` reports; 0: what the system has free
};

/// Bytes of memory the system can still give (MemAvailable, and the control group's limit).
std::int64_t available_memory_bytes();

/// Throws `Error` for a negative thread count or link speed.
std::unique_ptr<Device> make_cpu_device(const CpuDeviceOptions& options);

}  // namespace swapadvisor
