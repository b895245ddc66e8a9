// Many operands of one launch.
#pragma once

#include <swapadvisor/core/cuda/kernel_language.h>

namespace swapadvisor::cuda {

/// Device addresses as one kernel argument.
template <class T>
struct PointerList {
  static constexpr int most = 128;
  int count = 0;
  T* at[most] = {};

  void add(T* pointer) { at[count++] = pointer; }
  bool full() const { return count == most; }
  /// How whoever inspects a launch's arguments finds them.
  template <class F>
  void for_each_pointer(F f) const {
    for (int i = 0; i < count; ++i) f(at[i]);
  }
};

}  // namespace swapadvisor::cuda
