// --device and what belongs to it.
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/gpu_index.h>

#include <charconv>
#include <optional>

namespace swapadvisor {

std::optional<int> gpu_index(const std::string& device) {
  if (device == "cpu") return std::nullopt;
  if (device == "cuda") return 0;
  constexpr std::string_view prefix = "cuda:";
  int index = -1;
  if (device.starts_with(prefix)) {
    const char* const begin = device.data() + prefix.size();
    const char* const end = device.data() + device.size();
    const auto [stop, error] = std::from_chars(begin, end, index);
    if (error != std::errc() || stop != end) index = -1;
  }
  if (index < 0) fail("there is no device '{}': expected cpu, cuda or cuda:N, N counted from 0", device);
  return index;
}

namespace {

[[noreturn]] void refuse(const char* option, const char* reason) {
  throw CLI::ValidationError(fmt::format("{} is {}", option, reason));
}

}  // namespace

void DeviceCommandOptions::add_to(CLI::App& command) {
  const std::string group = "Device";
  add_checked(command, "--device", device, "Device to run on: cpu, cuda or cuda:N", gpu_index)
      ->capture_default_str()
      ->group(group);
  command.add_option("--threads", threads, "cpu: compute threads; 0: all cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group(group);
  add_checked(command, "--link-bandwidth", link_bandwidth,
              "cpu: speed of the link to host memory, each way, such as 2GB/s; default: as memory copies",
              [](const std::string& text) {
                // Measuring a slower link would take minutes.
                if (parse_bandwidth(text) < 1e6)
                  fail("a link of {} is too slow: expected at least 1MB/s", text);
              })
      ->group(group);
  command.add_flag("--allow-tf32", allow_tf32, "cuda: float32 products in TF32, faster and less exact")
      ->group(group);
  command.add_flag("--fast", fast, "cuda: also algorithms whose last bits differ from run to run")
      ->group(group);
}

void DeviceCommandOptions::add_graph_to(CLI::App& command) {
  command
      .add_flag("--cuda-graph", cuda_graph,
                "cuda: launch each step as one CUDA graph, where the simulator says that this is faster")
      ->group("Device");
}

Backend DeviceCommandOptions::open() const {
  const std::optional<int> gpu = gpu_index(device);
  if (!gpu) {
    if (allow_tf32) refuse("--allow-tf32", "an option of --device cuda");
    if (fast) refuse("--fast", "an option of --device cuda");
    if (cuda_graph) refuse("--cuda-graph", "an option of --device cuda");
    CpuDeviceOptions options;
    options.threads = threads;
    if (!link_bandwidth.empty()) options.link_bytes_per_second = parse_bandwidth(link_bandwidth);
    return {make_cpu_device(options), cpu_kernels()};
  }
  if (threads != 0) refuse("--threads", "an option of --device cpu");
  if (!link_bandwidth.empty())
    refuse("--link-bandwidth", "an option of --device cpu: a GPU's link is as fast as it is");
  try {
    return open_cuda({.index = *gpu, .allow_tf32 = allow_tf32, .fast = fast, .warn = warn});
  } catch (const Error& error) {
    fail("--device {}: {}", device, error.what());
  }
}

std::string DeviceCommandOptions::context(const Device& opened) const {
  if (!gpu_index(device)) return fmt::format("{} threads, link {}", opened.threads(), link_bandwidth);
  return fmt::format("{}{}{}", opened.name(), allow_tf32 ? ", TF32" : "", fast ? ", fast" : "");
}

}  // namespace swapadvisor
