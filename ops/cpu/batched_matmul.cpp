// batched_matmul on Eigen.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/batched_matmul.h>
#include <swapadvisor/ops/cpu/register.h>

namespace swapadvisor {
namespace {

/// Rows of one product that a thread takes at a time: fixed, so that bits do not depend on threads.
constexpr std::int64_t row_block = 64;

template <class T>
void multiply_by(MatrixView<T> c, T factor) {
  if (c.column_major) c = c.transposed();
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.cols; ++j) c.data[i * c.stride + j] *= factor;
}

template <class T>
void run(const BatchedMatmulShape& shape, const KernelArgs& args) {
  const std::int64_t rows = shape.c.at(args.out<T>(0), 0).rows, blocks = (rows + row_block - 1) / row_block;
  const auto alpha = static_cast<T>(shape.options.alpha);
  parallel_for(shape.c.batches() * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / blocks, first = i % blocks * row_block,
                         last = std::min(rows, first + row_block);
      const MatrixView<T> c = shape.c.at(args.out<T>(0), batch).row_range(first, last);
      eigen_gemm<T>(shape.a.at(args.in<T>(0), batch).row_range(first, last), shape.b.at(args.in<T>(1), batch),
                    c, false);
      if (alpha != 1) multiply_by(c, alpha);
    }
  });
}

}  // namespace

void add_batched_matmul_kernels(KernelSet& set) {
  set.add("batched_matmul", [](const KernelRequest& r) {
    return visit_floating(r.inputs[0].dtype, [&]<class T>() {
      return make_kernel([shape = BatchedMatmulShape(r)](const KernelArgs& args) { run<T>(shape, args); });
    });
  });
}

}  // namespace swapadvisor
