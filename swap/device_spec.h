// Devices by name, with the numbers a planner needs when none were measured.
#pragma once

#include <swapadvisor/core/program.h>

#include <string>
#include <vector>

namespace swapadvisor {

/// Throws `Error` unless memory sizes are not negative, bandwidths from 1 to 1e18 bytes per second, the
/// duplex cap 0 (none) or from 1 to 2e18, the latency finite and not negative and the slowdown finite and at
/// least 1.
void check(const DeviceSpec& device);

/// The devices known by name. Memory is what a process can use of the card; the link is what pinned copies
/// reach, each way alone and both together; host memory is unbounded.
std::vector<DeviceSpec> named_devices();

/// The device of that name, else the one of a device v1 file. Throws `Error` listing the names when it is
/// neither.
DeviceSpec find_device(const std::string& name_or_file);

}  // namespace swapadvisor
