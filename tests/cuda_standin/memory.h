// Device and pinned memory of the stand-in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace standin {

/// What cudaMalloc gives: filled with NaN, never handed out twice, up to SWAPADVISOR_STANDIN_MEMORY bytes (1
/// GiB).
class Memory {
 public:
  Memory();
  void* allocate(std::size_t bytes);  ///< null when there is not so much
  bool free(void* address);
  void* allocate_pinned(std::size_t bytes);
  bool free_pinned(void* address);
  /// Whether [address, address + bytes) lies in one allocation of the device.
  bool on_device(const void* address, std::size_t bytes) const;
  std::size_t total() const { return total_; }
  std::size_t used() const { return used_; }

 private:
  std::size_t total_, used_ = 0;
  std::map<std::uintptr_t, std::size_t> device_, pinned_;
};

Memory& memory();

}  // namespace standin
