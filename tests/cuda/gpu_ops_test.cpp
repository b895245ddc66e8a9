// The op table on a real GPU: every case against the CPU device.
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <map>

#include "../op_table.h"
#include "gpu.h"

namespace swapadvisor::test {
namespace {

/// Runs a graph op by op with operands in host memory: each op's go to the arena and its results back. Ops
/// without a CUDA kernel, those of the tests, run on the host.
class ByCopies {
 public:
  ByCopies(Device& device, const KernelSet& kernels, const KernelSet& host_kernels)
      : device_(device), kernels_(kernels), host_kernels_(host_kernels) {}

  void run(const Graph& graph, HostBuffers& buffers) {
    for (const Buffer& buffer : graph.buffers())
      buffers[buffer.name].resize(static_cast<std::size_t>(buffer.spec.bytes()));
    for (const Node& node : graph.nodes()) run_node(graph, node, buffers);
  }

 private:
  void run_node(const Graph& graph, const Node& node, HostBuffers& buffers) {
    std::vector<TensorSpec> inputs;
    for (const int tensor : node.inputs)
      inputs.push_back(graph.tensors()[static_cast<std::size_t>(tensor)].spec);
    const std::vector<TensorSpec> outputs = graph.output_specs(node);
    const bool on_gpu = kernels_.contains(node.op->type());
    const KernelContext context{1, 3};
    const auto kernel = (on_gpu ? kernels_ : host_kernels_).prepare({*node.op, inputs, outputs, context});
    if (!on_gpu) return run_on_host(graph, node, *kernel, buffers);
    place(graph, node, kernel->workspace_bytes());
    Stream& stream = device_.stream(StreamKind::compute);
    for (const auto& [buffer, offset] : places_) stage(graph, buffer, offset, buffers);
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const int tensor : node.inputs) in.push_back(address(graph, tensor));
    for (const int tensor : node.outputs) out.push_back(address(graph, tensor));
    stream.launch(*kernel, {in, out, kernel->workspace_bytes() > 0 ? arena_ + workspace_ : nullptr});
    stream.synchronize();
    for (const int tensor : node.outputs)
      fetch(graph, graph.tensors()[static_cast<std::size_t>(tensor)].buffer, buffers);
  }

  static void run_on_host(const Graph& graph, const Node& node, const Kernel& kernel, HostBuffers& buffers) {
    const auto at = [&](int tensor) {
      const TensorInfo& info = graph.tensors()[static_cast<std::size_t>(tensor)];
      return buffers.at(graph.buffers()[static_cast<std::size_t>(info.buffer)].name).data() +
             info.byte_offset;
    };
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const int tensor : node.inputs) in.push_back(at(tensor));
    for (const int tensor : node.outputs) out.push_back(at(tensor));
    std::vector<std::byte> workspace(static_cast<std::size_t>(kernel.workspace_bytes()));
    kernel.run(nullptr, {in, out, workspace.data()});
  }

  void place(const Graph& graph, const Node& node, std::int64_t workspace) {
    places_.clear();
    std::int64_t end = 0;
    for (const auto* list : {&node.inputs, &node.outputs})
      for (const int tensor : *list) {
        const int buffer = graph.tensors()[static_cast<std::size_t>(tensor)].buffer;
        if (!places_.emplace(buffer, end).second) continue;
        end += round_up(graph.buffers()[static_cast<std::size_t>(buffer)].spec.bytes(), arena_alignment);
      }
    workspace_ = end;
    arena_ = device_.arena(std::max<std::int64_t>(end + workspace, 1));
  }

  std::byte* address(const Graph& graph, int tensor) const {
    const TensorInfo& info = graph.tensors()[static_cast<std::size_t>(tensor)];
    return arena_ + places_.at(info.buffer) + info.byte_offset;
  }

  HostMemory& staging(std::int64_t bytes) {
    if (!staging_ || staging_->bytes() < bytes) staging_ = device_.host_alloc(bytes);
    return *staging_;
  }

  void stage(const Graph& graph, int buffer, std::int64_t offset, const HostBuffers& buffers) {
    const auto& bytes = buffers.at(graph.buffers()[static_cast<std::size_t>(buffer)].name);
    HostMemory& host = staging(static_cast<std::int64_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), host.data());
    Stream& stream = device_.stream(StreamKind::compute);
    stream.copy(arena_ + offset, host.data(), static_cast<std::int64_t>(bytes.size()));
    stream.synchronize();
  }

  void fetch(const Graph& graph, int buffer, HostBuffers& buffers) {
    auto& bytes = buffers.at(graph.buffers()[static_cast<std::size_t>(buffer)].name);
    HostMemory& host = staging(static_cast<std::int64_t>(bytes.size()));
    Stream& stream = device_.stream(StreamKind::compute);
    stream.copy(host.data(), arena_ + places_.at(buffer), static_cast<std::int64_t>(bytes.size()));
    stream.synchronize();
    std::copy_n(host.data(), bytes.size(), bytes.begin());
  }

  Device& device_;
  const KernelSet& kernels_;
  const KernelSet& host_kernels_;
  std::unique_ptr<HostMemory> staging_;
  std::byte* arena_ = nullptr;
  std::map<int, std::int64_t> places_;  // of the node's buffers
  std::int64_t workspace_ = 0;
};

/// The largest error of any buffer that both graphs have, relative to its largest element (at least 0.01); of
/// whole numbers, infinite unless equal.
double error_of(const Graph& graph, const HostBuffers& found, const Graph& exact_graph,
                const HostBuffers& exact) {
  double worst = 0;
  for (const Buffer& buffer : graph.buffers()) {
    const int id = exact_graph.find_buffer(buffer.name);
    if (id < 0) continue;
    const auto a = to_logical(buffer.spec, found.at(buffer.name));
    const auto b =
        to_logical(exact_graph.buffers()[static_cast<std::size_t>(id)].spec, exact.at(buffer.name));
    double largest = 0.01;
    for (const double value : b) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
      const double error = std::abs(a[i] - b[i]) / largest;
      if (!is_floating(buffer.spec.dtype) || !(error <= worst))
        worst = is_floating(buffer.spec.dtype) ? error : INFINITY;
    }
  }
  return worst;
}

TEST_F(Gpu, EveryOpAgreesWithTheCpu) {
  const KernelSet host = with_test_ops(portable_kernels());
  ByCopies gpu(device(), kernels(), host);
  int cases = 0;
  double worst = 0;
  std::string worst_name;
  for (const OpCase& op_case : op_table())
    for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
      const OpVariant wide(op_case, DType::f64, layout, true);
      HostBuffers exact = wide.buffers();
      interpret(wide.graph, host, exact, {.seed = 3});
      for (const DType dtype : {DType::f32, DType::f64}) {
        const OpVariant variant(op_case, dtype, layout, true);
        HostBuffers found = variant.buffers();
        gpu.run(variant.graph, found);
        const double allowed = dtype == DType::f32 ? op_case.f32_tolerance : 1e-11;
        const double error = error_of(variant.graph, found, wide.graph, exact) / allowed;
        EXPECT_LE(error, 1) << op_case.name << " in " << name_of(dtype);
        if (!(error <= worst)) worst = error, worst_name = op_case.name;
        ++cases;
      }
    }
  std::cout << fmt::format(
      "[ gpu ops ] {} cases in float32 and float64 agree with the CPU; the worst, '{}', takes {:.0f} % of "
      "what is allowed\n",
      cases, worst_name, 100 * worst);
}

}  // namespace
}  // namespace swapadvisor::test
