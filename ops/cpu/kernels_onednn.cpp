// Which ops take oneDNN, in float32; everything else keeps the factory it had.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/batched_matmul.h>
#include <swapadvisor/ops/cpu/conv2d_onednn.h>
#include <swapadvisor/ops/cpu/matmul.h>
#include <swapadvisor/ops/cpu/onednn.h>
#include <swapadvisor/ops/cpu/pool2d_onednn.h>
#include <swapadvisor/ops/cpu/register.h>

namespace swapadvisor {
namespace {

/// oneDNN's plain GEMM takes any transposition and, unlike its matmul primitive on unpacked operands, is fast
/// for all widths of b.
std::unique_ptr<Kernel> onednn_matmul(const KernelRequest& r) {
  return make_kernel([shape = matmul_shape(r)](const KernelArgs& args) {
    onednn_gemm(shape.a(args.in<float>(0)), shape.b(args.in<float>(1)), shape.c(args.out<float>(0)), false);
  });
}

/// A product per thread; all threads on each product where there are fewer products than threads.
std::unique_ptr<Kernel> onednn_batched_matmul(const KernelRequest& r) {
  return make_kernel([shape = BatchedMatmulShape(r)](const KernelArgs& args) {
    const auto multiply = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        onednn_scaled_gemm(shape.a.at(args.in<float>(0), i), shape.b.at(args.in<float>(1), i),
                           shape.c.at(args.out<float>(0), i), static_cast<float>(shape.options.alpha));
    };
    const std::int64_t batches = shape.c.batches();
    if (batches < thread_count()) return multiply(0, batches);
    parallel_for(batches, 1, [&](std::int64_t begin, std::int64_t end) { multiply(begin, end); });
  });
}

}  // namespace

void add_onednn_kernels(KernelSet& set) {
  KernelSet portable;
  add_conv_kernels(portable);
  add_matmul_kernels(portable);
  add_batched_matmul_kernels(portable);
  add_pool_kernels(portable);
  const auto add = [&](const char* type, std::unique_ptr<Kernel> (*prepare)(const KernelRequest&)) {
    set.add(type, [portable, prepare](const KernelRequest& r) {
      return r.inputs[0].dtype == DType::f32 ? prepare(r) : portable.prepare(r);
    });
  };
  add("conv2d", onednn_conv2d);
  add("conv2d_backward_data", onednn_conv2d);
  add("conv2d_backward_weight", onednn_conv2d);
  add("matmul", onednn_matmul);
  add("batched_matmul", onednn_batched_matmul);
  for (const char* type : {"max_pool2d", "max_pool2d_backward", "avg_pool2d", "avg_pool2d_backward"})
    set.add(type, [portable](const KernelRequest& r) {
      auto kernel = portable.prepare(r);
      return r.inputs[0].dtype == DType::f32 ? onednn_pool2d(r, std::move(kernel)) : std::move(kernel);
    });
}

}  // namespace swapadvisor
