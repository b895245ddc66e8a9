#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/swap/plan_file.h>

#include <cmath>
#include <filesystem>

namespace swapadvisor {

void check(const DeviceSpec& device) {
  if (device.memory_bytes < 0 || device.host_bytes < 0)
    fail("device '{}' has {} bytes of memory and {} of host memory: expected at least 0", device.name,
         device.memory_bytes, device.host_bytes);
  const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
  if (!positive(device.h2d_bytes_per_second) || !positive(device.d2h_bytes_per_second))
    fail("device '{}' has a link of {} and {} bytes per second: expected more than 0", device.name,
         device.h2d_bytes_per_second, device.d2h_bytes_per_second);
  if (!(device.duplex_bytes_per_second >= 0) || !std::isfinite(device.duplex_bytes_per_second))
    fail("device '{}' has a duplex cap of {} bytes per second: expected at least 0 (0: none)", device.name,
         device.duplex_bytes_per_second);
  if (!(device.copy_latency_seconds >= 0) || !std::isfinite(device.copy_latency_seconds))
    fail("device '{}' has a copy latency of {} seconds: expected at least 0", device.name,
         device.copy_latency_seconds);
  if (!(device.compute_slowdown_while_copying >= 1) || !std::isfinite(device.compute_slowdown_while_copying))
    fail("device '{}' slows ops down by {} while copying: expected at least 1", device.name,
         device.compute_slowdown_while_copying);
}

std::vector<DeviceSpec> named_devices() {
  constexpr std::int64_t unbounded = DeviceSpec::unbounded;
  constexpr double latency = 10e-6;
  return {
      // 16 GB HBM2, PCIe 3.0 x16: the paper's card.
      {"v100-16g", 15'200'000'000, unbounded, 12e9, 12e9, 20e9, latency, 1},
      // 40 GB HBM2, PCIe 4.0 x16.
      {"a100-40g", 40'000'000'000, unbounded, 24e9, 24e9, 40e9, latency, 1},
      // 141 GB HBM3e, PCIe 5.0 x16.
      {"h200", 140'000'000'000, unbounded, 50e9, 50e9, 85e9, latency, 1},
  };
}

DeviceSpec find_device(const std::string& name_or_file) {
  std::string names;
  for (const DeviceSpec& device : named_devices()) {
    if (device.name == name_or_file) return device;
    names += names.empty() ? device.name : ", " + device.name;
  }
  std::error_code ignored;
  if (!std::filesystem::exists(name_or_file, ignored))
    fail("there is no device or device file '{}': the devices known by name are {}", name_or_file, names);
  return read_device(name_or_file);
}

}  // namespace swapadvisor
