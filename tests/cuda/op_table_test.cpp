// The op table on the CUDA device: every case against the CPU device, with threads in several orders, at
// other addresses and in place.
#include "../op_table.h"

#include <gtest/gtest.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include <algorithm>
#include <cmath>

#include "device_interpret.h"
#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

const std::vector<OpCase>& table() {
  static const std::vector<OpCase> cases = op_table();
  return cases;
}

/// One device for all tests.
const Backend& device() {
  static const Backend backend = open_standin();
  return backend;
}

/// Number of a case in the table, and layout; cases without image operands have one layout.
using Variant = std::pair<std::size_t, Layout>;

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (std::size_t i = 0; i < table().size(); ++i) {
    const auto& operands = table()[i].operands;
    all.emplace_back(i, Layout::row_major);
    if (std::any_of(operands.begin(), operands.end(), [](const Operand& o) { return o.shape.rank() == 4; }))
      all.emplace_back(i, Layout::channels_last);
  }
  return all;
}

std::string variant_name(const testing::TestParamInfo<Variant>& info) {
  return table()[info.param.first].name + (info.param.second == Layout::channels_last ? "_nhwc" : "");
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

/// Which buffers hold projections of results, and sums of those: they are the tests' own, and differ by the
/// rounding of thousands of terms that may cancel.
std::vector<bool> projections(const Graph& graph) {
  std::vector<bool> projected(graph.buffers().size());
  const auto buffer_of = [&](int tensor) {
    return static_cast<std::size_t>(graph.tensors()[static_cast<std::size_t>(tensor)].buffer);
  };
  for (const Node& node : graph.nodes()) {
    const bool sums = node.op->type() == "add" && std::all_of(node.inputs.begin(), node.inputs.end(),
                                                              [&](int t) { return projected[buffer_of(t)]; });
    if (sums || node.op->type() == "test_project") projected[buffer_of(node.outputs[0])] = true;
  }
  return projected;
}

/// Buffers of `found` against those of the same name in `exact`, relative to the largest element.
void expect_near(const Graph& graph, const HostBuffers& found, const Graph& exact_graph,
                 const HostBuffers& exact, double tolerance) {
  const std::vector<bool> ours = projections(graph);
  for (std::size_t i = 0; i < graph.buffers().size(); ++i) {
    const Buffer& buffer = graph.buffers()[i];
    const int id = exact_graph.find_buffer(buffer.name);
    if (id < 0 || ours[i]) continue;  // without a partner where the two graphs cast differently
    const auto a = to_logical(buffer.spec, found.at(buffer.name));
    const auto b =
        to_logical(exact_graph.buffers()[static_cast<std::size_t>(id)].spec, exact.at(buffer.name));
    ASSERT_EQ(a.size(), b.size()) << buffer.name;
    const double allowed = is_floating(buffer.spec.dtype) ? tolerance * std::max(0.01, largest(b)) : 0;
    for (std::size_t e = 0; e < a.size(); ++e) {
      if (std::isnan(a[e]) && std::isnan(b[e])) continue;
      ASSERT_NEAR(a[e], b[e], allowed) << buffer.name << "[" << e << "]";
    }
  }
}

class CudaOps : public testing::TestWithParam<Variant> {
 protected:
  CudaOps() : host_(with_test_ops(portable_kernels())), kernels_(device_kernels(device().kernels, host_)) {}
  void SetUp() override { order(standin_forward); }
  void TearDown() override { order(standin_forward); }

  const OpCase& op_case() const { return table()[GetParam().first]; }
  OpVariant variant(DType dtype) const { return {op_case(), dtype, GetParam().second, true}; }
  HostBuffers run(const OpVariant& variant, const InterpretOptions& options = {}) const {
    HostBuffers buffers = variant.buffers();
    interpret_on_device(*device().device, variant.graph, kernels_, buffers, options);
    return buffers;
  }
  static void order(StandinThreads threads, std::uint32_t seed = 1) {
    standin().configure(standin_at_once, threads, seed);
  }

  const KernelSet host_, kernels_;
};

TEST_P(CudaOps, AgreeWithTheCpu) {
  const OpVariant wide = variant(DType::f64);
  HostBuffers exact = wide.buffers();
  interpret(wide.graph, host_, exact);
  const OpVariant narrow = variant(DType::f32);
  expect_near(narrow.graph, run(narrow), wide.graph, exact, op_case().f32_tolerance);
  expect_near(wide.graph, run(wide), wide.graph, exact, 1e-12);
}

TEST_P(CudaOps, GiveTheSameBitsInAnyThreadOrderAndAtOtherAddresses) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const OpVariant all = variant(dtype);
    const HostBuffers forward = run(all, {.seed = 3});
    const auto expect_same = [&](const HostBuffers& found, const char* what) {
      for (const auto& [name, bytes] : forward) ASSERT_EQ(bytes, found.at(name)) << name << ", " << what;
    };
    order(standin_reversed);
    expect_same(run(all, {.seed = 3}), "reversed");
    order(standin_shuffled, 11);
    expect_same(run(all, {.seed = 3, .poison = std::byte{0x3C}, .shift_bytes = 24}), "shuffled and shifted");
    order(standin_forward);
  }
}

TEST_P(CudaOps, GiveTheSameBitsInPlace) {
  order(standin_shuffled, 5);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const OpVariant all = variant(dtype);
    const HostBuffers apart = run(all);
    for (const Alias& alias : allowed_aliases(all.graph)) {
      const HostBuffers shared = run(all, {.alias = alias});
      for (const auto& [name, bytes] : apart)
        ASSERT_EQ(bytes, shared.at(name)) << name << " with output " << alias.output << " of node "
                                          << alias.node << " in place of input " << alias.input;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, CudaOps, testing::ValuesIn(variants()), variant_name);

TEST(CudaKernels, ThereIsOneForEveryOpOfTheCpu) {
  for (const std::string& type : portable_kernels().types())
    EXPECT_TRUE(device().kernels.contains(type)) << type << " has no CUDA kernel";
}

}  // namespace
}  // namespace swapadvisor::test
