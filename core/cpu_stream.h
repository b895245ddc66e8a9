// A worker thread with a queue: one stream of the CPU device.
#pragma once

#include <swapadvisor/core/device.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace swapadvisor {

using SteadyClock = std::chrono::steady_clock;

/// A record queued on a stream gets the next ticket; reaching it completes the ticket.
class CpuEvent final : public Event {
 public:
  explicit CpuEvent(SteadyClock::time_point epoch) : epoch_(epoch) {}
  void synchronize() override { wait_for(queued_); }
  double seconds() const override;

  std::uint64_t next_ticket() { return ++queued_; }  ///< host thread
  std::uint64_t latest_ticket() const { return queued_; }
  void complete(std::uint64_t ticket);
  void wait_for(std::uint64_t ticket) const;

 private:
  const SteadyClock::time_point epoch_;
  std::uint64_t queued_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable reached_;
  std::uint64_t completed_ = 0;
  SteadyClock::time_point time_{};
};

class CpuStream final : public Stream {
 public:
  /// `setup` runs first on the worker thread. `bytes_per_second` paces copies; 0 means unlimited.
  CpuStream(std::function<void()> setup, double bytes_per_second);
  ~CpuStream() override;

  void launch(const Kernel& kernel, const KernelArgs& args) override;
  void copy(void* target, const void* source, std::int64_t bytes) override;
  void fill(void* target, int byte, std::int64_t bytes) override;
  void record(Event& event) override;
  void wait(const Event& event) override;
  void synchronize() override;

 private:
  struct Command {
    enum class Kind : std::uint8_t { launch, copy, fill, record, wait } kind;
    const Kernel* kernel = nullptr;
    const KernelArgs* args = nullptr;
    void* target = nullptr;
    const void* source = nullptr;
    std::int64_t bytes = 0;
    int byte = 0;
    CpuEvent* event = nullptr;
    std::uint64_t ticket = 0;
  };

  void push(const Command& command);
  void work(std::stop_token stop);
  void execute(const Command& command);
  void paced_copy(const Command& command);
  void sleep_until(SteadyClock::time_point due);

  const double bytes_per_second_;
  SteadyClock::duration wake_up_{};  ///< the worker's: how late it wakes up
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::condition_variable idle_;
  std::deque<Command> queue_;
  bool busy_ = false;
  std::exception_ptr error_;
  std::jthread worker_;
};

}  // namespace swapadvisor
