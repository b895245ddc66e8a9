// Devices: one arena of memory, three streams (compute, in, out), events, host memory. The executor knows no more.
#pragma once

#include <swapadvisor/core/kernel.h>
#include <swapadvisor/core/program.h>

#include <cstddef>
#include <memory>
#include <string>

namespace swapadvisor {

/// A point in a stream. Recording again moves it; a wait refers to the record that was latest when the wait was queued.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks the host until the latest record has been reached; returns at once if never recorded.
  virtual void synchronize() = 0;
  /// Seconds, on the device's clock, at which the latest record was reached. Call after `synchronize`.
  virtual double seconds() const = 0;
};

/// A queue of work that runs in order, apart from the host and the other streams. Calls only queue; they come from one
/// host thread at a time. What is passed by reference must stay until the work is done.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void launch(const Kernel& kernel, const KernelArgs& args) = 0;
  /// Copies between arena and host memory, at the link's speed.
  virtual void copy(void* target, const void* source, std::int64_t bytes) = 0;
  /// Sets bytes of the arena (poison in tests).
  virtual void fill(void* target, int byte, std::int64_t bytes) = 0;
  virtual void record(Event& event) = 0;
  virtual void wait(const Event& event) = 0;
  /// Blocks the host until all queued work is done; rethrows what a kernel threw.
  virtual void synchronize() = 0;
};

/// Host memory that the device can copy to and from quickly (pinned on CUDA). Page-aligned, zeroed, freed with it.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  virtual std::byte* data() = 0;
  virtual std::int64_t bytes() const = 0;
};

/// What runs programs. One host thread drives it.
class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& name() const = 0;
  virtual int threads() const = 0;
  /// Device memory free for an arena, in bytes.
  virtual std::int64_t free_bytes() const = 0;
  /// The one allocation of device memory. Growing it needs all streams idle and loses its contents; asking for no more
  /// than there is returns the same address. Page-aligned. Throws `Error` when the memory cannot be had.
  virtual std::byte* arena(std::int64_t bytes) = 0;
  virtual std::int64_t arena_bytes() const = 0;  ///< the largest number of bytes asked for
  virtual Stream& stream(StreamKind kind) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  virtual std::unique_ptr<HostMemory> host_alloc(std::int64_t bytes) = 0;
  /// Bytes per second that the user limits the link to; 0 means unlimited.
  virtual double link_limit() const { return 0; }

  /// Blocks until the three streams are idle; rethrows what a kernel threw.
  void synchronize();
};

}  // namespace swapadvisor
