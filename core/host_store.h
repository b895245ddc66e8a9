// The host store: swap space in host memory, one slot per name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace swapadvisor {

/// Slots are page-rounded, zeroed when reserved, never shared and never moved. Persistent buffers of several graphs
/// meet here by name. Reserving is not thread-safe; reading and writing different slots is.
class HostStore {
 public:
  virtual ~HostStore() = default;
  /// The slot of that name, reserved now if there is none. Throws `Error` when it exists with another size, when the
  /// limit would be exceeded, or when the memory cannot be had.
  virtual std::span<std::byte> reserve(const std::string& name, std::int64_t bytes) = 0;
  /// The slot of that name; empty if there is none.
  virtual std::span<std::byte> find(const std::string& name) = 0;
  virtual std::int64_t bytes() const = 0;  ///< reserved now, pages rounded up
  virtual std::int64_t limit() const = 0;
};

}  // namespace swapadvisor
