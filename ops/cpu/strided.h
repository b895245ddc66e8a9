// Walks over several strided operands of one shape at once.
#pragma once

#include <swapadvisor/core/shape.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

/// One dimension of a walk: its extent, and the step of each operand in elements.
template <std::size_t Operands>
struct StridedDim {
  std::int64_t extent;
  std::array<std::int64_t, Operands> strides;
};

template <std::size_t Operands>
std::vector<StridedDim<Operands>> strided_dims(const Shape& shape,
                                               const std::array<Shape, Operands>& strides) {
  std::vector<StridedDim<Operands>> dims;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    StridedDim<Operands> dim{shape[i], {}};
    for (std::size_t k = 0; k < Operands; ++k) dim.strides[k] = strides[k][i];
    dims.push_back(dim);
  }
  return dims;
}

/// Neighbours that every operand walks like one dimension become one.
template <std::size_t Operands>
std::vector<StridedDim<Operands>> merged(const std::vector<StridedDim<Operands>>& dims) {
  std::vector<StridedDim<Operands>> result;
  for (const StridedDim<Operands>& dim : dims) {
    bool joins = !result.empty();
    for (std::size_t k = 0; joins && k < Operands; ++k)
      joins = result.back().strides[k] == dim.strides[k] * dim.extent;
    if (joins) {
      result.back() = {result.back().extent * dim.extent, dim.strides};
    } else {
      result.push_back(dim);
    }
  }
  return result;
}

template <std::size_t Operands>
std::int64_t count_of(std::span<const StridedDim<Operands>> dims) {
  std::int64_t count = 1;
  for (const auto& dim : dims) count *= dim.extent;
  return count;
}

/// Offsets of the operands at one index of the dimensions; steps in row-major order.
template <std::size_t Operands>
class StridedCursor {
 public:
  StridedCursor(std::span<const StridedDim<Operands>> dims, std::int64_t index) : dims_(dims) {
    for (std::size_t d = dims.size(); d-- > 0;) {
      position_[d] = index % dims[d].extent;
      index /= dims[d].extent;
      for (std::size_t k = 0; k < Operands; ++k) offsets_[k] += position_[d] * dims[d].strides[k];
    }
  }
  std::int64_t operator[](std::size_t operand) const { return offsets_[operand]; }
  void next() {
    for (std::size_t d = dims_.size(); d-- > 0;) {
      const bool wraps = ++position_[d] == dims_[d].extent;
      const std::int64_t steps = wraps ? 1 - dims_[d].extent : 1;
      for (std::size_t k = 0; k < Operands; ++k) offsets_[k] += steps * dims_[d].strides[k];
      if (!wraps) return;
      position_[d] = 0;
    }
  }

 private:
  std::span<const StridedDim<Operands>> dims_;
  std::array<std::int64_t, Shape::max_rank> position_{};
  std::array<std::int64_t, Operands> offsets_{};
};

}  // namespace swapadvisor
