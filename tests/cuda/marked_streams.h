// What tests of orders on the stand-in's streams begin with.
#pragma once

#include <memory>
#include <vector>

#include "standin_backend.h"

namespace swapadvisor::test {

/// A kernel that appends its number to a list when it runs.
class Marker final : public Kernel {
 public:
  Marker(std::vector<int>& list, int number) : mark_{&list, number} {}
  void run(NativeStream stream, const KernelArgs&) const override {
    standin().call(
        stream, [](void* mark) { static_cast<Mark*>(mark)->write(); }, &mark_);
  }

 private:
  struct Mark {
    std::vector<int>* list;
    int number;
    void write() { list->push_back(number); }
  };
  mutable Mark mark_;
};

/// The stand-in's device, some memory, its streams.
struct Streams {
  Backend backend = open_standin();
  Device& device = *backend.device;
  std::byte* arena = device.arena(1 << 16);
  std::unique_ptr<HostMemory> host = device.host_alloc(1 << 16);
  Stream& compute = device.stream(StreamKind::compute);
  Stream& in = device.stream(StreamKind::in);
  Stream& out = device.stream(StreamKind::out);
};

}  // namespace swapadvisor::test
