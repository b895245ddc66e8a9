// Offsets of several strided operands at an element's number, in device code.
#pragma once

#include <swapadvisor/core/cuda/kernel_language.h>
#include <swapadvisor/ops/cpu/strided.h>
#include <swapadvisor/ops/cuda/unroll.h>

#include <limits>

namespace swapadvisor::cuda {

/// Dimensions of a walk, outermost first, as a kernel's argument.
template <int operands>
struct Walk {
  int rank = 0;
  bool narrow = true;  ///< numbers of elements fit 32 bits, whose division is several times faster
  std::int64_t extent[Shape::max_rank] = {};
  std::int64_t stride[operands][Shape::max_rank] = {};

  Walk() = default;
  explicit Walk(std::span<const StridedDim<operands>> dims) : rank(static_cast<int>(dims.size())) {
    narrow = count_of<operands>(dims) <= std::numeric_limits<std::int32_t>::max();
    for (std::size_t d = 0; d < dims.size(); ++d) {
      extent[d] = dims[d].extent;
      for (std::size_t k = 0; k < operands; ++k) stride[k][d] = dims[d].strides[k];
    }
  }

  template <class Number>
  __device__ void locate_as(Number i, std::int64_t (&offsets)[operands]) const {
    for (int d = rank - 1; d >= 0; --d) {
      const Number size = static_cast<Number>(extent[d]), rest = i / size, at = i - rest * size;
      SWAPADVISOR_UNROLL
      for (int k = 0; k < operands; ++k) offsets[k] += static_cast<std::int64_t>(at) * stride[k][d];
      i = rest;
    }
  }
  /// Adds the operands' offsets of element i, in elements.
  __device__ void locate(std::int64_t i, std::int64_t (&offsets)[operands]) const {
    if (narrow)
      locate_as(static_cast<std::uint32_t>(i), offsets);
    else
      locate_as(i, offsets);
  }
};

}  // namespace swapadvisor::cuda
