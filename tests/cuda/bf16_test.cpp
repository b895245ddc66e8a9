// Kernels in bf16: they compute in float32, so on equal operands their results are those of the
// float32 kernels, rounded once.
#include <gtest/gtest.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "../op_table.h"
#include "device_interpret.h"
#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Float32 numbers as bf16.
Bytes narrowed(const Bytes& bytes) {
  std::vector<BFloat16> values;
  for (float v : from_bytes<float>(bytes)) values.push_back(BFloat16(v));
  return to_bytes(values);
}

/// Float32 numbers that bf16 has.
Bytes rounded(const Bytes& bytes) {
  std::vector<float> values = from_bytes<float>(bytes);
  for (float& v : values) v = BFloat16(v);
  return to_bytes(values);
}

/// One node on the device, with its float32 operands as such or as bf16.
class NodeRun {
 public:
  NodeRun(Device& device, const KernelSet& kernels, const Graph& graph, const Node& node, DType type)
      : device_(device), type_(type) {
    for (int t : node.inputs) inputs_.push_back(spec_of(graph, t));
    for (int t : node.outputs) outputs_.push_back(spec_of(graph, t));
    const KernelContext context{1, 3};
    kernel_ = kernels.prepare({*node.op, inputs_, outputs_, context});
  }

  /// `operands`: from the first element of each input on, float32 numbers as such.
  std::vector<Bytes> results(const std::vector<Bytes>& operands) {
    std::vector<std::int64_t> at;
    std::int64_t end = 0;
    const auto place = [&](std::int64_t bytes) {
      at.push_back(end);
      end = (end + bytes + 511) / 256 * 256;
    };
    for (const Bytes& operand : operands) place(static_cast<std::int64_t>(operand.size()));
    for (const TensorSpec& spec : outputs_) place(spec.bytes());
    place(kernel_->workspace_bytes());
    std::byte* const arena = device_.arena(std::max(end, std::int64_t{16} << 20));
    const auto host = device_.host_alloc(end);
    std::fill_n(host->data(), end, std::byte{0xFF});
    std::vector<const void*> in;
    std::vector<void*> out;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Bytes stored =
          original_[i] == DType::f32 && type_ == DType::bf16 ? narrowed(operands[i]) : operands[i];
      std::copy(stored.begin(), stored.end(), host->data() + at[i]);
      in.push_back(arena + at[i]);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) out.push_back(arena + at[operands.size() + i]);
    Stream& stream = device_.stream(StreamKind::compute);
    stream.copy(arena, host->data(), end);
    stream.launch(*kernel_, {in, out, kernel_->workspace_bytes() == 0 ? nullptr : arena + at.back()});
    stream.copy(host->data(), arena, end);
    stream.synchronize();
    std::vector<Bytes> results;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const std::byte* from = host->data() + at[operands.size() + i];
      results.emplace_back(from, from + outputs_[i].bytes());
    }
    return results;
  }

 private:
  TensorSpec spec_of(const Graph& graph, int tensor) {
    TensorSpec spec = graph.spec(tensor);
    original_.push_back(spec.dtype);
    if (spec.dtype == DType::f32) spec.dtype = type_;
    return spec;
  }

  Device& device_;
  DType type_;
  std::vector<TensorSpec> inputs_, outputs_;
  std::vector<DType> original_;
  std::unique_ptr<Kernel> kernel_;
};

/// What the inputs of a node hold, from their first element on, with float32 numbers rounded to bf16.
std::vector<Bytes> operands_of(const Graph& graph, const Node& node, const HostBuffers& buffers) {
  std::vector<Bytes> operands;
  for (int t : node.inputs) {
    const auto& tensor = graph.tensors()[static_cast<std::size_t>(t)];
    const Bytes& all = buffers.at(graph.buffers()[static_cast<std::size_t>(tensor.buffer)].name);
    const Bytes mine(all.begin() + tensor.byte_offset, all.end());
    operands.push_back(graph.spec(t).dtype == DType::f32 ? rounded(mine) : mine);
  }
  return operands;
}

TEST(CudaBf16, KernelsGiveTheRoundedResultsOfFloat32) {
  const Backend backend = open_standin();
  const KernelSet host = with_test_ops(portable_kernels());
  std::set<std::string> types;
  for (const OpCase& op_case : op_table()) {
    const OpVariant variant(op_case, DType::f32, Layout::channels_last, true);
    HostBuffers buffers = variant.buffers();
    interpret(variant.graph, host, buffers);
    for (const Node& node : variant.graph.nodes()) {
      const std::string type(node.op->type());
      if (!backend.kernels.contains(type) || !node.op->traits().updates.empty()) continue;
      const std::vector<Bytes> operands = operands_of(variant.graph, node, buffers);
      const auto run = [&](DType dtype) {
        return NodeRun(*backend.device, backend.kernels, variant.graph, node, dtype).results(operands);
      };
      const auto single = run(DType::f32), narrow = run(DType::bf16);
      for (std::size_t i = 0; i < single.size(); ++i) {
        const bool floating = variant.graph.spec(node.outputs[i]).dtype == DType::f32;
        ASSERT_EQ(floating ? narrowed(single[i]) : single[i], narrow[i])
            << op_case.name << ": output " << i << " of " << type;
      }
      types.insert(type);
    }
  }
  EXPECT_GT(types.size(), 40u);
}

}  // namespace
}  // namespace swapadvisor::test
