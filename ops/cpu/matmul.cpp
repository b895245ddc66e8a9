// matmul on Eigen.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/gemm.h>
#include <swapadvisor/ops/cpu/matmul.h>
#include <swapadvisor/ops/cpu/register.h>

namespace swapadvisor {

void add_matmul_kernels(KernelSet& set) {
  set.add("matmul", [](const KernelRequest& r) {
    return visit_floating(r.inputs[0].dtype, [&]<class T>() {
      return make_kernel([shape = matmul_shape(r)](const KernelArgs& args) {
        const auto a = shape.a(args.in<T>(0)), b = shape.b(args.in<T>(1));
        const auto c = shape.c(args.out<T>(0));
        // Threads take rows of c, or columns where there are more of them.
        const bool by_rows = c.rows >= c.cols;
        parallel_for(by_rows ? c.rows : c.cols, 16, [&](std::int64_t begin, std::int64_t end) {
          if (by_rows) {
            eigen_gemm<T>(a.row_range(begin, end), b, c.row_range(begin, end), false);
          } else {
            eigen_gemm<T>(a, b.col_range(begin, end), c.col_range(begin, end), false);
          }
        });
      });
    });
  });
}

}  // namespace swapadvisor
