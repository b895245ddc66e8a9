// oneDNN's bf16: which ops it takes on a processor that multiplies bf16, and, on every machine, the same
// kernels in f32.
#include <gtest/gtest.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <typeinfo>

#include "op_table.h"

#ifdef SWAPADVISOR_ONEDNN
#include <swapadvisor/ops/cpu/bfloat16_onednn.h>

namespace swapadvisor {
namespace {

bool is_product(const Node& node) {
  return node.op->type() == "matmul" || node.op->type() == "batched_matmul";
}

/// The test ops and the portable kernels, but products by oneDNN's primitive where it has one; `taken` counts
/// them.
KernelSet with_primitives(int& taken) {
  KernelSet set = with_test_ops(portable_kernels());
  const auto portable = std::make_shared<const KernelSet>(set);
  for (const char* type : {"matmul", "batched_matmul"})
    set.add(type, [portable, &taken](const KernelRequest& r) {
      auto kernel = onednn_product(r);
      if (!kernel) return portable->prepare(r);
      ++taken;
      return kernel;
    });
  return set;
}

// What a machine without bf16 can show of them: descriptors, strides, transpositions, alpha.
TEST(OnednnBfloat16, ProductsInFloat32AreThoseOfPortableKernels) {
  int taken = 0, products = 0;
  const KernelSet primitives = with_primitives(taken), portable = with_test_ops(portable_kernels());
  for (const OpCase& op_case : op_table()) {
    const OpVariant variant(op_case, DType::f32, Layout::row_major, true);
    const auto count = std::count_if(variant.graph.nodes().begin(), variant.graph.nodes().end(), is_product);
    if (count == 0) continue;
    products += static_cast<int>(count);
    HostBuffers expected = variant.buffers(), actual = variant.buffers();
    interpret(variant.graph, portable, expected, {.threads = 2});
    interpret(variant.graph, primitives, actual, {.threads = 2});
    for (const Buffer& buffer : variant.graph.buffers()) {
      if (buffer.spec.dtype != DType::f32) continue;
      const TensorSpec spec = TensorSpec::dense(DType::f32, {buffer.spec.bytes() / size_of(DType::f32)});
      const auto a = to_logical(spec, expected.at(buffer.name)), b = to_logical(spec, actual.at(buffer.name));
      double largest = 0;
      for (double v : a) largest = std::max(largest, std::abs(v));
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(b[i], a[i], 2 * op_case.f32_tolerance * largest)
            << op_case.name << " " << buffer.name << "[" << i << "]";
    }
  }
  EXPECT_GT(taken, products / 2) << "of " << products << " products oneDNN took few";
}

// Their results in bf16 are those of Bfloat16Ops.
TEST(OnednnBfloat16, TakesProductsAndConvolutionsWhereTheProcessorHasBfloat16) {
  if (!onednn_multiplies_bfloat16()) GTEST_SKIP() << "this processor does not multiply bf16";
  const KernelSet widened = portable_kernels(), fast = cpu_kernels();
  std::set<std::string> types;
  for (const OpCase& op_case : op_table()) {
    const OpVariant variant(op_case, DType::bf16, Layout::channels_last, true);
    for (const Node& node : variant.graph.nodes()) {
      const std::string type(node.op->type());
      if (!is_product(node) && !type.starts_with("conv2d")) continue;
      std::vector<TensorSpec> inputs, outputs;
      for (int t : node.inputs) inputs.push_back(variant.graph.spec(t));
      for (int t : node.outputs) outputs.push_back(variant.graph.spec(t));
      const KernelContext context;
      const auto slow = widened.prepare({*node.op, inputs, outputs, context}),
                 quick = fast.prepare({*node.op, inputs, outputs, context});
      const Kernel &a = *slow, &b = *quick;
      if (typeid(a) != typeid(b)) types.insert(type);
    }
  }
  EXPECT_EQ(types, (std::set<std::string>{"batched_matmul", "conv2d", "conv2d_backward_data",
                                          "conv2d_backward_weight", "matmul"}));
}

}  // namespace
}  // namespace swapadvisor
#endif
