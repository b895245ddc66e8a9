// A host store in memory that the device allocates for it: plain pages on the CPU, pinned pages on CUDA.
#pragma once

#include <swapadvisor/core/device.h>
#include <swapadvisor/core/host_store.h>

#include <map>
#include <memory>

namespace swapadvisor {

/// Slots in host memory of one device.
class DeviceHostStore final : public HostStore {
 public:
  /// `limit` in bytes; `DeviceSpec::unbounded` for none. The device must outlive the store.
  explicit DeviceHostStore(Device& device, std::int64_t limit = DeviceSpec::unbounded);

  std::span<std::byte> reserve(const std::string& name, std::int64_t bytes) override;
  std::span<std::byte> find(const std::string& name) override;
  std::int64_t bytes() const override { return bytes_; }
  std::int64_t limit() const override { return limit_; }

 private:
  struct Slot {
    std::unique_ptr<HostMemory> memory;
    std::int64_t bytes = 0;
  };

  Device& device_;
  std::int64_t limit_;
  std::int64_t bytes_ = 0;
  std::map<std::string, Slot> slots_;
};

}  // namespace swapadvisor
