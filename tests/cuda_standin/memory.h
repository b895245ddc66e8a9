// Device and pinned memory of the stand-in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace standin {

/// What cudaMalloc gives: filled with NaN, never handed out twice, in reach of running work only, its end
/// against an unreadable page. Calls come from the host thread that drives the device; `open` and `close`
/// from any.
class Memory {
 public:
  Memory();
  void* allocate(std::size_t bytes);  ///< null when there is not so much
  bool free(void* address, std::size_t& bytes);
  void* allocate_pinned(std::size_t bytes);
  bool free_pinned(void* address, std::size_t& bytes);
  /// Whether [address, address + bytes) lies in one allocation of the device.
  bool on_device(const void* address, std::size_t bytes) const;
  bool is_pinned(const void* address, std::size_t bytes) const;
  /// Device memory is readable and writable from the first `open` to the last `close`.
  void open();
  void close();

  void set_limits(std::int64_t device_bytes, std::int64_t pinned_bytes);  ///< −1: those of the environment
  std::size_t total() const { return total_; }
  std::size_t used() const { return used_; }
  std::size_t pinned() const { return pinned_used_; }

 private:
  /// A mapping: the pages that are used, with an unreadable one on either side.
  struct Block {
    std::byte* pages = nullptr;
    std::size_t page_bytes = 0;
    std::size_t bytes = 0;  ///< asked for
  };
  using Blocks = std::map<std::uintptr_t, Block>;  // by the address given out
  static bool within(const Blocks& blocks, const void* address, std::size_t bytes);
  void protect(int protection);

  std::size_t total_ = 0, pinned_total_ = 0, used_ = 0, pinned_used_ = 0;
  Blocks device_, pinned_;
  std::mutex mutex_;  // of `open_` and the protection
  int open_ = 0;
};

Memory& memory();

/// Work may touch device memory while one of these lives.
class OpenMemory {
 public:
  OpenMemory() { memory().open(); }
  ~OpenMemory() { memory().close(); }
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

}  // namespace standin
