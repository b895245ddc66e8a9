#include <gtest/gtest.h>
#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/ops/fill.h>

#include <vector>

#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

TEST(CudaFill, WritesEveryElement) {
  const Backend backend = open_standin();
  Graph graph("g");
  const Tensor y = fill(graph, TensorSpec::dense(DType::f32, {1031}), 2.5, "y");
  const KernelContext context{1, 1};
  const auto kernels = prepare_kernels(graph, backend.kernels, context);
  std::byte* arena = backend.device->arena(8192);
  void* outputs[] = {arena};
  const KernelArgs args{{}, outputs, nullptr};
  Stream& stream = backend.device->stream(StreamKind::compute);
  stream.launch(*kernels[0], args);
  auto host = backend.device->host_alloc(y.spec().bytes());
  stream.copy(host->data(), arena, y.spec().bytes());
  stream.synchronize();
  const auto* values = reinterpret_cast<const float*>(host->data());
  for (int i = 0; i < 1031; ++i) ASSERT_EQ(values[i], 2.5f) << i;
}

}  // namespace
}  // namespace swapadvisor::test
