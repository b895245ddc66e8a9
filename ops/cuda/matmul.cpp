// matmul and batched_matmul by cuBLAS. Sizes and strides are 64 bits wide.
#include <swapadvisor/core/cuda/library_workspace.h>
#include <swapadvisor/ops/batched_matmul.h>
#include <swapadvisor/ops/cpu/strided.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/matmul.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

namespace swapadvisor::cuda {
namespace {

/// How one matrix lies in memory: contiguous rows, or contiguous columns.
struct MatrixOrder {
  std::int64_t rows = 0, columns = 0;
  std::int64_t leading = 0;  ///< elements from one row (or column) to the next
  bool row_major = true;

  /// The last two dimensions of an operand.
  explicit MatrixOrder(const TensorSpec& spec) {
    const int r = spec.rank() - 2, c = spec.rank() - 1;
    rows = spec.shape[r];
    columns = spec.shape[c];
    row_major = columns == 1 || spec.strides[c] == 1;
    // With one row or column its stride leads nowhere, but cuBLAS checks it.
    leading = std::max(spec.strides[row_major ? r : c], row_major ? columns : rows);
  }
};

/// A product of matrices of one shape.
struct Product {
  MatrixOrder a, b, c;
  bool transpose_a, transpose_b;
  double alpha = 1;
  DType dtype;

  std::int64_t inner() const { return transpose_a ? a.rows : a.columns; }
};

/// Products at a fixed step from each other; one call of cuBLAS.
struct Steps {
  std::int64_t count = 1, a = 0, b = 0, c = 0;
};

cudaDataType_t type_of(DType dtype) {
  if (dtype == DType::bf16) return CUDA_R_16BF;
  return dtype == DType::f64 ? CUDA_R_64F : CUDA_R_32F;
}

cublasComputeType_t compute_type(DType dtype, bool allow_tf32) {
  if (dtype == DType::f64) return CUBLAS_COMPUTE_64F;
  return dtype == DType::f32 && allow_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// Room to split the inner dimension into several sums, by the shape alone. cuBLAS needs 16 KiB and has no
/// use for more than 32 MiB.
std::int64_t blas_workspace(const Product& p, std::int64_t count) {
  constexpr std::int64_t least = 64 << 10, most = 32 << 20, splits = 4;
  const std::int64_t width = p.dtype == DType::f64 ? 8 : 4, result = p.c.rows * p.c.columns;
  if (result > most || count > most) return most;
  return aligned_bytes(std::clamp(result * count * width * splits, least, most));
}

/// One of cuBLAS's factors: it knows contiguous columns only, so contiguous rows are a transposed matrix.
struct Factor {
  const void* data;
  std::int64_t leading, step;
  cublasOperation_t operation;
};

Factor factor(const MatrixOrder& order, const void* data, std::int64_t step, bool transposed) {
  return {data, order.leading, step, transposed != order.row_major ? CUBLAS_OP_T : CUBLAS_OP_N};
}

template <class Scalar>
void call(cublasHandle_t handle, cublasComputeType_t compute, const Product& p, const Steps& steps,
          const void* a, const void* b, void* c) {
  const Scalar alpha = static_cast<Scalar>(p.alpha), beta = 0;
  Factor left = factor(p.a, a, steps.a, p.transpose_a), right = factor(p.b, b, steps.b, p.transpose_b);
  std::int64_t m = p.c.rows, n = p.c.columns;
  if (p.c.row_major) {
    // cᵀ = op(b)ᵀ·op(a)ᵀ, whose columns are contiguous.
    const auto turned = [](Factor f) {
      f.operation = f.operation == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
      return f;
    };
    std::tie(left, right) = std::pair(turned(right), turned(left));
    std::swap(m, n);
  }
  const cudaDataType_t type = type_of(p.dtype);
  check(steps.count == 1
            ? cublasGemmEx_64(handle, left.operation, right.operation, m, n, p.inner(), &alpha, left.data,
                              type, left.leading, right.data, type, right.leading, &beta, c, type,
                              p.c.leading, compute, CUBLAS_GEMM_DEFAULT)
            : cublasGemmStridedBatchedEx_64(handle, left.operation, right.operation, m, n, p.inner(), &alpha,
                                            left.data, type, left.leading, left.step, right.data, type,
                                            right.leading, right.step, &beta, c, type, p.c.leading, steps.c,
                                            steps.count, compute, CUBLAS_GEMM_DEFAULT),
        "a matrix product");
}

class MatrixProduct final : public Kernel {
 public:
  /// `steps` for every one of the offsets, in elements of a, b, c.
  MatrixProduct(SharedLibraries libraries, const Product& product, const Steps& steps,
                std::vector<std::array<std::int64_t, 3>> offsets)
      : libraries_(std::move(libraries)),
        product_(product),
        steps_(steps),
        offsets_(std::move(offsets)),
        library_bytes_(blas_workspace(product, steps.count)) {}

  std::int64_t workspace_bytes() const override { return planned_bytes(library_bytes_); }

  void run(NativeStream stream, const KernelArgs& args) const override {
    const cublasHandle_t handle =
        libraries_->blas(static_cast<cudaStream_t>(stream), aligned_start(args.workspace),
                         static_cast<std::size_t>(library_bytes_));
    const std::int64_t size = size_of(product_.dtype);
    const auto compute = compute_type(product_.dtype, libraries_->options().allow_tf32);
    for (const auto& [a, b, c] : offsets_) {
      const void *left = args.in<std::byte>(0) + a * size, *right = args.in<std::byte>(1) + b * size;
      void* const result = args.out<std::byte>(0) + c * size;
      if (product_.dtype == DType::f64)
        call<double>(handle, compute, product_, steps_, left, right, result);
      else
        call<float>(handle, compute, product_, steps_, left, right, result);
    }
  }

 private:
  SharedLibraries libraries_;
  Product product_;
  Steps steps_;
  std::vector<std::array<std::int64_t, 3>> offsets_;
  std::int64_t library_bytes_;
};

std::unique_ptr<Kernel> make_matmul(const SharedLibraries& libraries, const KernelRequest& r) {
  const auto& op = r.as<MatmulOp>();
  const Product product{MatrixOrder(r.inputs[0]), MatrixOrder(r.inputs[1]), MatrixOrder(r.outputs[0]),
                        op.transpose_a(),         op.transpose_b(),         1,
                        r.inputs[0].dtype};
  return std::make_unique<MatrixProduct>(libraries, product, Steps(),
                                         std::vector{std::array<std::int64_t, 3>{}});
}

/// Batch dimensions as few as possible; the longest is left to cuBLAS, the others are one call each.
std::unique_ptr<Kernel> make_batched_matmul(const SharedLibraries& libraries, const KernelRequest& r) {
  const BatchedMatmulOptions& o = r.as<BatchedMatmulOp>().options();
  const TensorSpec &a = r.inputs[0], &b = r.inputs[1], &c = r.outputs[0];
  const Product product{MatrixOrder(a), MatrixOrder(b), MatrixOrder(c), o.transpose_a,
                        o.transpose_b,  o.alpha,        a.dtype};
  Shape batches = a.shape;
  batches[a.rank() - 2] = batches[a.rank() - 1] = 1;
  auto dims = merged(strided_dims<3>(batches, {a.strides, b.strides, c.strides}));
  Steps steps;
  if (!dims.empty()) {
    const auto longest = std::max_element(dims.begin(), dims.end(),
                                          [](const auto& x, const auto& y) { return x.extent < y.extent; });
    steps = {longest->extent, longest->strides[0], longest->strides[1], longest->strides[2]};
    dims.erase(longest);
  }
  const std::span<const StridedDim<3>> outer(dims);
  std::vector<std::array<std::int64_t, 3>> offsets;
  StridedCursor<3> at(outer, 0);
  for (std::int64_t n = count_of(outer); n > 0; --n, at.next()) offsets.push_back({at[0], at[1], at[2]});
  return std::make_unique<MatrixProduct>(libraries, product, steps, std::move(offsets));
}

}  // namespace

void add_matmul_kernels(KernelSet& set, const SharedLibraries& libraries) {
  set.add("matmul", [libraries](const KernelRequest& r) { return make_matmul(libraries, r); });
  set.add("batched_matmul",
          [libraries](const KernelRequest& r) { return make_batched_matmul(libraries, r); });
}

}  // namespace swapadvisor::cuda
