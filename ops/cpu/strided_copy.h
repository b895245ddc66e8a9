// Copies between strided memory.
#pragma once

#include <swapadvisor/ops/cpu/strided.h>

namespace swapadvisor {

/// A copy of a block from one set of strides to another, prepared once and run on any memory.
class StridedCopy {
 public:
  StridedCopy(const Shape& shape, const Shape& from, const Shape& to);

  /// Elements of `element_bytes` (1, 2, 4 or 8) from `from` to `to`, which do not overlap.
  void run(const void* from, void* to, std::int64_t element_bytes) const;
  /// Zero bytes in all elements of `to`.
  void clear(void* to, std::int64_t element_bytes) const;

 private:
  using Dim = StridedDim<2>;

  template <class T>
  void copy(const T* from, T* to) const;
  template <class T>
  void copy_tiles(const T* from, T* to) const;
  /// Calls f(offset in from, offset in to, elements) for runs along the inner dimension, from several
  /// threads.
  template <class F>
  void for_each_run(F&& f) const;

  std::vector<Dim> outer_;
  Dim inner_{1, {1, 1}};
  /// A dimension along which `from` is contiguous while `to` is along the inner one: a transposition. Else
  /// extent 0.
  Dim across_{0, {1, 1}};
};

}  // namespace swapadvisor
