// Division of a kernel's workspace into parts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swapadvisor {

/// Hands out byte offsets, multiples of 64, while a kernel is prepared.
class WorkspaceLayout {
 public:
  std::int64_t add(std::int64_t bytes) {
    const std::int64_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

template <class T>
T* workspace_at(void* workspace, std::int64_t offset) {
  return static_cast<T*>(static_cast<void*>(static_cast<std::byte*>(workspace) + offset));
}

}  // namespace swapadvisor
