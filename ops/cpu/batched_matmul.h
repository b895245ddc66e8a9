// Operands of the batched_matmul op as matrices.
#pragma once

#include <swapadvisor/core/kernel.h>
#include <swapadvisor/ops/batched_matmul.h>
#include <swapadvisor/ops/cpu/gemm.h>
#include <swapadvisor/ops/cpu/strided.h>

#include <algorithm>

namespace swapadvisor {

/// One operand: its matrices, all alike, and where each begins.
struct MatrixStack {
  MatrixStack(const TensorSpec& spec, bool transposed) : transposed_(transposed) {
    const int r = spec.rank() - 2, c = spec.rank() - 1;
    rows_ = spec.shape[r];
    cols_ = spec.shape[c];
    column_major_ = cols_ > 1 && spec.strides[c] != 1;
    stride_ = column_major_ ? spec.strides[c] : spec.strides[r];
    // With one row or column the stride leads nowhere, but libraries check it.
    if (rows_ == 1 && !column_major_) stride_ = cols_;
    if (column_major_) stride_ = std::max(stride_, rows_);
    Shape batches = spec.shape;
    batches[r] = batches[c] = 1;
    const auto dims = strided_dims<1>(batches, {spec.strides});
    const std::span<const StridedDim<1>> span(dims);
    StridedCursor<1> at(span, 0);
    for (std::int64_t n = count_of(span); n > 0; --n, at.next()) offsets_.push_back(at[0]);
  }
  std::int64_t batches() const { return static_cast<std::int64_t>(offsets_.size()); }

  /// op(matrix) of batch i.
  template <class T>
  MatrixView<T> at(T* data, std::int64_t i) const {
    const MatrixView<T> matrix{data + offsets_[static_cast<std::size_t>(i)], rows_, cols_, stride_,
                               column_major_};
    return transposed_ ? matrix.transposed() : matrix;
  }

 private:
  bool transposed_, column_major_;
  std::int64_t rows_, cols_, stride_;
  std::vector<std::int64_t> offsets_;
};

struct BatchedMatmulShape {
  explicit BatchedMatmulShape(const KernelRequest& r)
      : options(r.as<BatchedMatmulOp>().options()),
        a(r.inputs[0], options.transpose_a),
        b(r.inputs[1], options.transpose_b),
        c(r.outputs[0], false) {}

  BatchedMatmulOptions options;
  MatrixStack a, b, c;
};

}  // namespace swapadvisor
