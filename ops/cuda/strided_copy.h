// Copies between strided device memory.
#pragma once

#include <swapadvisor/core/cuda/kernel_language.h>
#include <swapadvisor/ops/cuda/pointer_list.h>
#include <swapadvisor/ops/cuda/walk.h>

#include <vector>

namespace swapadvisor::cuda {

/// A copy of blocks of one shape from one set of strides to another, prepared once and run on any memory.
class StridedCopy {
 public:
  StridedCopy(const Shape& shape, const Shape& from, const Shape& to, std::int64_t element_bytes);

  void run(cudaStream_t stream, const void* from, void* to) const;
  /// Several blocks at once, none of which overlaps another: from[i] to offsets[i] elements beyond `to`. At
  /// most PointerList::most.
  void run(cudaStream_t stream, const std::vector<const void*>& from, void* to,
           const std::vector<std::int64_t>& offsets) const;
  /// Zero bytes in all elements of `to`.
  void clear(cudaStream_t stream, void* to) const;

  friend bool operator==(const StridedCopy&, const StridedCopy&);

 private:
  using Dim = StridedDim<2>;

  template <class T>
  void launch_copy(cudaStream_t stream, const std::vector<const void*>& from, void* to,
                   const std::vector<std::int64_t>& offsets, std::int64_t widening) const;

  std::vector<Dim> outer_;
  Dim inner_{1, {1, 1}};
  /// A dimension along which `from` is contiguous while `to` is along the inner one: a transposition. Else
  /// extent 0.
  Dim across_{0, {1, 1}};
  std::int64_t element_bytes_;
};

}  // namespace swapadvisor::cuda
