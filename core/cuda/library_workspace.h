// Workspace of library calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swapadvisor::cuda {

/// Libraries want workspace at multiples of this, in bytes.
inline constexpr std::int64_t workspace_alignment = 256;

/// `bytes` rounded up to the alignment.
constexpr std::int64_t aligned_bytes(std::int64_t bytes) {
  return (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
}

/// What to plan so that `bytes` are left at an aligned address, wherever the workspace lies; 0 for none.
constexpr std::int64_t planned_bytes(std::int64_t bytes) {
  return bytes == 0 ? 0 : bytes + workspace_alignment;
}

/// The first aligned address of a workspace.
inline std::byte* aligned_start(void* workspace) {
  constexpr auto alignment = static_cast<std::uintptr_t>(workspace_alignment);
  const auto address = reinterpret_cast<std::uintptr_t>(workspace);
  return static_cast<std::byte*>(workspace) + ((alignment - address % alignment) % alignment);
}

}  // namespace swapadvisor::cuda
