#include <swapadvisor/core/cpu_stream.h>

#include <algorithm>
#include <cstring>

namespace swapadvisor {

double CpuEvent::seconds() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::duration<double>(time_ - epoch_).count();
}

void CpuEvent::complete(std::uint64_t ticket) {
  // Notify under the lock: the event may be destroyed as soon as a waiter sees the ticket.
  const std::lock_guard lock(mutex_);
  completed_ = ticket;
  time_ = SteadyClock::now();
  reached_.notify_all();
}

void CpuEvent::wait_for(std::uint64_t ticket) const {
  std::unique_lock lock(mutex_);
  reached_.wait(lock, [&] { return completed_ >= ticket; });
}

CpuStream::CpuStream(std::function<void()> setup, double bytes_per_second)
    : bytes_per_second_(bytes_per_second), worker_([this, setup = std::move(setup)](std::stop_token stop) {
        setup();
        work(stop);
      }) {}

CpuStream::~CpuStream() {
  worker_.request_stop();
  worker_.join();
}

void CpuStream::launch(const Kernel& kernel, const KernelArgs& args) {
  push({.kind = Command::Kind::launch, .kernel = &kernel, .args = &args});
}

void CpuStream::copy(void* target, const void* source, std::int64_t bytes) {
  push({.kind = Command::Kind::copy, .target = target, .source = source, .bytes = bytes});
}

void CpuStream::fill(void* target, int byte, std::int64_t bytes) {
  push({.kind = Command::Kind::fill, .target = target, .bytes = bytes, .byte = byte});
}

void CpuStream::record(Event& event) {
  auto& cpu_event = static_cast<CpuEvent&>(event);
  push({.kind = Command::Kind::record, .event = &cpu_event, .ticket = cpu_event.next_ticket()});
}

void CpuStream::wait(const Event& event) {
  auto& cpu_event = const_cast<CpuEvent&>(static_cast<const CpuEvent&>(event));
  push({.kind = Command::Kind::wait, .event = &cpu_event, .ticket = cpu_event.latest_ticket()});
}

void CpuStream::synchronize() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return queue_.empty() && !busy_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void CpuStream::push(const Command& command) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(command);
  changed_.notify_one();
}

void CpuStream::work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  // Queued work is finished even after a stop request: others may wait for its events.
  while (changed_.wait(lock, stop, [&] { return !queue_.empty(); }) || !queue_.empty()) {
    const Command command = queue_.front();
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    execute(command);
    lock.lock();
    busy_ = false;
    if (queue_.empty()) idle_.notify_all();
  }
}

void CpuStream::execute(const Command& command) {
  switch (command.kind) {
    case Command::Kind::launch:
      try {
        command.kernel->run(nullptr, *command.args);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
      return;
    case Command::Kind::copy:
      return paced_copy(command);
    case Command::Kind::fill:
      std::memset(command.target, command.byte, static_cast<std::size_t>(command.bytes));
      return;
    case Command::Kind::record:
      return command.event->complete(command.ticket);
    case Command::Kind::wait:
      return command.event->wait_for(command.ticket);
  }
}

void CpuStream::paced_copy(const Command& command) {
  auto* target = static_cast<std::byte*>(command.target);
  const auto* source = static_cast<const std::byte*>(command.source);
  if (bytes_per_second_ <= 0) {
    std::memcpy(target, source, static_cast<std::size_t>(command.bytes));
    return;
  }
  // The schedule counts from the start, so that late wake-ups do not add up.
  constexpr std::int64_t chunk = 256 * 1024;
  const auto start = SteadyClock::now();
  for (std::int64_t done = 0; done < command.bytes;) {
    const std::int64_t n = std::min(chunk, command.bytes - done);
    std::memcpy(target + done, source + done, static_cast<std::size_t>(n));
    done += n;
    const std::chrono::duration<double> due(static_cast<double>(done) / bytes_per_second_);
    sleep_until(start + std::chrono::duration_cast<SteadyClock::duration>(due));
  }
}

// A thread wakes up later than it asked for, by tens of microseconds in a virtual machine, with every copy:
// it asks for that much earlier.
void CpuStream::sleep_until(SteadyClock::time_point due) {
  constexpr SteadyClock::duration longest = std::chrono::microseconds(200);  // a busy machine's is no measure
  constexpr int memory = 16;
  const auto target = due - wake_up_;
  if (SteadyClock::now() >= target) return;
  std::this_thread::sleep_until(target);
  const auto late = std::min(SteadyClock::now() - target, longest);
  wake_up_ += (late - wake_up_) / memory;
}

}  // namespace swapadvisor
