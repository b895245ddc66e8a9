// Devices that can record work once and launch all of it many times (CUDA graphs).
#pragma once

#include <swapadvisor/core/device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace swapadvisor {

/// Work that was captured. It keeps the addresses it was captured with: arena, host memory and kernels must
/// outlive it.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  /// Queues all of it on the compute stream: it starts after what that stream was given before, and what that
  /// stream is given later starts after it. The other streams know nothing of it.
  virtual void launch() = 0;
  /// Kernels, copies and fills in it.
  virtual std::int64_t nodes() const = 0;
};

/// A device that is one of these too can capture: ask by dynamic_cast. One host thread drives both.
class Capture {
 public:
  virtual ~Capture() = default;
  /// Why nothing can be captured now, in one sentence; empty when something can.
  virtual std::string obstacle() const = 0;
  /// Calls `queue`, which queues work on any of the streams as usual. Nothing of it runs; streams, records
  /// and waits say what comes before what. The host must not wait for anything meanwhile, and events that
  /// were recorded meanwhile mean nothing afterwards. What was queued before is no part of it. Throws `Error`
  /// when something cannot be captured, and what `queue` throws; the streams are then as before.
  virtual std::unique_ptr<CapturedWork> capture(const std::function<void()>& queue) = 0;
  /// While capturing: `event` gets its record, with the time, whenever the captured work comes to this place
  /// of the stream. Nothing captured may wait for it.
  virtual void record_time(StreamKind kind, Event& event) = 0;
};

}  // namespace swapadvisor
