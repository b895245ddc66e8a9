// Owners of what CUDA and its libraries create.
#pragma once

#include <utility>

namespace swapadvisor::cuda {

/// Owns a T, or none; `destroy` ends it. For cudaEvent_t, descriptors and their like: pointers that are null
/// where there is nothing.
template <class T, auto destroy>
class Handle {
 public:
  explicit Handle(T handle = nullptr) : handle_(handle) {}
  ~Handle() {
    if (handle_) destroy(handle_);
  }
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  T get() const { return handle_; }

 private:
  T handle_;
};

}  // namespace swapadvisor::cuda
