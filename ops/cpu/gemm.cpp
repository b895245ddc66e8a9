#include <swapadvisor/ops/cpu/gemm.h>

#include <Eigen/Core>

namespace swapadvisor {
namespace {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using ConstMap = Eigen::Map<const RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

/// The memory of `m` read row by row: m itself, or its transpose when m is column major.
template <class T>
ConstMap<T> memory_rows(MatrixView<const T> m) {
  const MatrixView<const T> rows = m.column_major ? m.transposed() : m;
  return {rows.data, rows.rows, rows.cols, Eigen::OuterStride<>(rows.stride)};
}

}  // namespace

template <class T>
void eigen_gemm(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, bool accumulate) {
  if (c.column_major) return eigen_gemm<T>(b.transposed(), a.transposed(), c.transposed(), accumulate);
  Eigen::Map<RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>> result(c.data, c.rows, c.cols,
                                                                         Eigen::OuterStride<>(c.stride));
  if (!accumulate) result.setZero();
  const ConstMap<T> x = memory_rows(a), y = memory_rows(b);
  if (a.column_major && b.column_major) {
    result.noalias() += x.transpose() * y.transpose();
  } else if (a.column_major) {
    result.noalias() += x.transpose() * y;
  } else if (b.column_major) {
    result.noalias() += x * y.transpose();
  } else {
    result.noalias() += x * y;
  }
}

template void eigen_gemm(MatrixView<const float>, MatrixView<const float>, MatrixView<float>, bool);
template void eigen_gemm(MatrixView<const double>, MatrixView<const double>, MatrixView<double>, bool);

}  // namespace swapadvisor
