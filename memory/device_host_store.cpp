#include <swapadvisor/memory/device_host_store.h>

namespace swapadvisor {

DeviceHostStore::DeviceHostStore(Device& device, std::int64_t limit) : device_(device), limit_(limit) {}

std::span<std::byte> DeviceHostStore::reserve(const std::string& name, std::int64_t bytes) {
  if (const auto found = slots_.find(name); found != slots_.end()) {
    if (found->second.bytes != bytes)
      fail("'{}' has {} bytes in the host store, but a graph needs {}", name, found->second.bytes, bytes);
    return {found->second.memory->data(), static_cast<std::size_t>(bytes)};
  }
  const std::int64_t rounded = round_up(bytes, page_bytes);
  if (rounded > limit_ - bytes_)
    fail("the host store needs {} bytes for '{}' besides the {} in use, limit {} bytes", rounded, name, bytes_, limit_);
  Slot& slot = slots_[name];
  slot = {device_.host_alloc(rounded), bytes};
  bytes_ += rounded;
  return {slot.memory->data(), static_cast<std::size_t>(bytes)};
}

std::span<std::byte> DeviceHostStore::find(const std::string& name) {
  const auto found = slots_.find(name);
  if (found == slots_.end()) return {};
  return {found->second.memory->data(), static_cast<std::size_t>(found->second.bytes)};
}

}  // namespace swapadvisor
