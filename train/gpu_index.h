// Names of devices on the command line.
#pragma once

#include <optional>
#include <string>

namespace swapadvisor {

/// The index of a GPU, counted from 0; nothing for cpu. Throws `Error` for what is no device.
std::optional<int> gpu_index(const std::string& device);

}  // namespace swapadvisor
