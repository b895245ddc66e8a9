// Operands of the matmul op as matrices.
#pragma once

#include <swapadvisor/core/kernel.h>
#include <swapadvisor/ops/cpu/gemm.h>
#include <swapadvisor/ops/matmul.h>

namespace swapadvisor {

struct MatmulShape {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;

  /// op(a), [m, k].
  template <class T>
  MatrixView<const T> a(const T* data) const {
    return {data, m, k, transpose_a ? m : k, transpose_a};
  }
  /// op(b), [k, n].
  template <class T>
  MatrixView<const T> b(const T* data) const {
    return {data, k, n, transpose_b ? k : n, transpose_b};
  }
  template <class T>
  MatrixView<T> c(T* data) const {
    return {data, m, n, n};
  }
};

inline MatmulShape matmul_shape(const KernelRequest& request) {
  const auto& op = request.as<MatmulOp>();
  const Shape& a = request.inputs[0].shape;
  const Shape& c = request.outputs[0].shape;
  return {c[0], c[1], a[op.transpose_a() ? 0 : 1], op.transpose_a(), op.transpose_b()};
}

}  // namespace swapadvisor
