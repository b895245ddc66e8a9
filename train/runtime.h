// What sessions run on: a device, the host memory beside it, and the kernels.
#pragma once

#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include <cstdint>
#include <memory>
#include <string>

namespace swapadvisor {

class Session;
class Trainer;

/// How much of the machine a `Runtime` may use.
struct RuntimeOptions {
  CpuDeviceOptions device;                          ///< threads, link speed
  std::int64_t host_bytes = DeviceSpec::unbounded;  ///< limit of host memory
  KernelSet kernels = cpu_kernels();                ///< add the kernels of your own ops here
};

/// One device, one host store, one set of kernels. Sessions on the same runtime share parameters and states
/// by name: one that trains and one that infers see the same weights. They take turns; the runtime writes
/// what one session still has on the device back before another one runs. Must outlive its sessions. Not
/// thread-safe: one thread uses a runtime and its sessions.
class Runtime {
 public:
  /// The CPU. Throws `Error` for a negative thread count or link speed.
  explicit Runtime(RuntimeOptions options = {});
  /// Any device. Takes `kernels` for that device.
  Runtime(std::unique_ptr<Device> device, KernelSet kernels, std::int64_t host_bytes = DeviceSpec::unbounded);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Device& device() { return *device_; }  ///< streams and device memory
  HostStore& host() { return host_; }    ///< parameters and states, by name, between iterations
  const KernelSet& kernels() const { return kernels_; }  ///< by op type

 private:
  friend class Session;
  friend class Trainer;  // whose sessions take turns as well
  /// Makes `session` (or none) the one that may have data on the device.
  void activate(Session* session);
  void forget(const Session* session);
  std::string next_slot_prefix();

  std::unique_ptr<Device> device_;
  DeviceHostStore host_;
  KernelSet kernels_;
  Session* active_ = nullptr;
  int sessions_ = 0;
};

}  // namespace swapadvisor
