#include <swapadvisor/train/runtime.h>
#include <swapadvisor/train/session.h>

namespace swapadvisor {

Runtime::Runtime(RuntimeOptions options)
    : Runtime(make_cpu_device(options.device), std::move(options.kernels), options.host_bytes) {}

Runtime::Runtime(std::unique_ptr<Device> device, KernelSet kernels, std::int64_t host_bytes)
    : device_(std::move(device)), host_(*device_, host_bytes), kernels_(std::move(kernels)) {}

void Runtime::activate(Session* session) {
  if (active_ == session) return;
  if (active_) active_->drain();
  active_ = session;
}

void Runtime::forget(const Session* session) {
  if (active_ == session) active_ = nullptr;
}

std::string Runtime::next_slot_prefix() {
  return fmt::format("session{}/", ++sessions_);
}

}  // namespace swapadvisor
