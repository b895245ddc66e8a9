// Matrix products on given memory.
#pragma once

#include <cstdint>

namespace swapadvisor {

/// A matrix in memory: `stride` elements from one row to the next, or from one column to the next when column
/// major.
template <class T>
struct MatrixView {
  T* data;
  std::int64_t rows, cols, stride;
  bool column_major = false;

  MatrixView transposed() const { return {data, cols, rows, stride, !column_major}; }
  MatrixView row_range(std::int64_t begin, std::int64_t end) const {
    return {data + begin * (column_major ? 1 : stride), end - begin, cols, stride, column_major};
  }
  MatrixView col_range(std::int64_t begin, std::int64_t end) const {
    return transposed().row_range(begin, end).transposed();
  }
};

/// c = a·b, or c += a·b with `accumulate`.
template <class T>
using Gemm = void (*)(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, bool accumulate);

/// On Eigen, by the calling thread alone. T is float or double.
template <class T>
void eigen_gemm(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, bool accumulate);

extern template void eigen_gemm(MatrixView<const float>, MatrixView<const float>, MatrixView<float>, bool);
extern template void eigen_gemm(MatrixView<const double>, MatrixView<const double>, MatrixView<double>, bool);

}  // namespace swapadvisor
