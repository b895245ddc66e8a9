#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/swap/plan_file.h>

#include <cmath>
#include <filesystem>

namespace swapadvisor {

namespace {

constexpr double fastest_link = 1e18;  // bytes per second

}  // namespace

void check(const DeviceSpec& device) {
  if (device.memory_bytes < 0 || device.host_bytes < 0)
    fail("device '{}' has {} bytes of memory and {} of host memory: expected at least 0", device.name,
         device.memory_bytes, device.host_bytes);
  // Between bytes and seconds that both fit a plan, and far from what a double cannot hold.
  const auto plausible = [](double speed) { return speed >= 1 && speed <= fastest_link; };
  if (!plausible(device.h2d_bytes_per_second) || !plausible(device.d2h_bytes_per_second))
    fail("device '{}' has a link of {} and {} bytes per second: expected 1 to {}", device.name,
         device.h2d_bytes_per_second, device.d2h_bytes_per_second, fastest_link);
  const double duplex = device.duplex_bytes_per_second;
  if (duplex != 0 && !(duplex >= 1 && duplex <= 2 * fastest_link))
    fail("device '{}' has a duplex cap of {} bytes per second: expected 1 to {}, or 0 for none", device.name,
         duplex, 2 * fastest_link);
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
  if (name_or_file == "cpu" && !std::filesystem::exists(name_or_file, ignored))
    fail("the device 'cpu' has to be measured: `swapadvisor profile MODEL --out GRAPH --device-out FILE`, then --device FILE");
  if (!std::filesystem::exists(name_or_file, ignored))
    fail("there is no device or device file '{}': the devices known by name are {}", name_or_file, names);
  return read_device(name_or_file);
}

}  // namespace swapadvisor
