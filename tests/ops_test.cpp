// Every op: its gradient against finite differences, its f32 kernel against the f64 one, determinism,
// aliasing.
#include <gtest/gtest.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "op_table.h"

namespace swapadvisor {
namespace {

const OpCase& find_case(const std::string& name) {
  static const std::vector<OpCase> table = op_table();
  return *std::find_if(table.begin(), table.end(), [&](const OpCase& c) { return c.name == name; });
}

/// Case name and layout; cases without image operands have one layout.
using Variant = std::pair<std::string, Layout>;

bool has_layouts(const OpCase& op_case) {
  const auto is_image = [](const Operand& operand) { return operand.shape.rank() == 4; };
  return std::any_of(op_case.operands.begin(), op_case.operands.end(), is_image);
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const OpCase& op_case : op_table()) {
    all.emplace_back(op_case.name, Layout::row_major);
    if (has_layouts(op_case)) all.emplace_back(op_case.name, Layout::channels_last);
  }
  return all;
}

std::string variant_name(const testing::TestParamInfo<Variant>& info) {
  return info.param.first + (info.param.second == Layout::channels_last ? "_nhwc" : "");
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

double scalar_of(const HostBuffers& buffers, const Tensor& tensor) {
  return from_bytes<double>(buffers.at(tensor.name())).at(0);
}

class Ops : public testing::TestWithParam<Variant> {
 protected:
  const OpCase& op_case() const { return find_case(GetParam().first); }
  Layout layout() const { return GetParam().second; }
};

TEST_P(Ops, GradientMatchesFiniteDifferences) {
  if (op_case().gradient_tolerance == 0) return;
  const KernelSet kernels = with_test_ops(portable_kernels());
  const OpVariant with(op_case(), DType::f64, layout(), true),
      without(op_case(), DType::f64, layout(), false);
  if (!with.loss || with.wanted.empty()) return;
  HostBuffers analytic = with.buffers();
  interpret(with.graph, kernels, analytic);

  const Interpreter forward(without.graph, kernels);
  const HostBuffers start = without.buffers();
  const auto loss_at = [&](const std::string& name, std::size_t element, double value) {
    HostBuffers buffers = start;
    std::memcpy(buffers[name].data() + element * sizeof(double), &value, sizeof(double));
    forward.step(buffers);
    return scalar_of(buffers, without.loss);
  };
  for (std::size_t i = 0; i < with.wanted.size(); ++i) {
    const std::string name = with.wanted[i].name();
    ASSERT_TRUE(with.gradients[i]) << name << " has no gradient";
    ASSERT_EQ(with.gradients[i].shape(), with.wanted[i].shape()) << name;
    const auto gradient = from_bytes<double>(tensor_bytes(with.gradients[i], analytic));
    const auto x = from_bytes<double>(start.at(name));
    const double tolerance = op_case().gradient_tolerance * std::max(1.0, largest(gradient));
    const std::size_t stride = 1 + x.size() / 120;  // a sample of large operands
    for (std::size_t e = 0; e < x.size(); e += stride) {
      const double h = op_case().step;
      const double difference = (loss_at(name, e, x[e] + h) - loss_at(name, e, x[e] - h)) / (2 * h);
      ASSERT_NEAR(gradient[e], difference, tolerance) << name << "[" << e << "]";
    }
  }
}

TEST_P(Ops, F32AgreesWithF64) {
  const OpVariant narrow(op_case(), DType::f32, layout(), true), wide(op_case(), DType::f64, layout(), true);
  HostBuffers single = narrow.buffers(), exact = wide.buffers();
  interpret(narrow.graph, with_test_ops(cpu_kernels()), single, {.threads = 2});
  interpret(wide.graph, with_test_ops(portable_kernels()), exact);
  for (const Buffer& buffer : narrow.graph.buffers()) {
    const int id = wide.graph.find_buffer(buffer.name);
    if (id < 0) continue;  // the two graphs cast differently
    const auto a = to_logical(buffer.spec, single.at(buffer.name));
    const auto b = to_logical(wide.graph.buffers()[static_cast<std::size_t>(id)].spec, exact.at(buffer.name));
    ASSERT_EQ(a.size(), b.size()) << buffer.name;
    const double tolerance =
        is_floating(buffer.spec.dtype) ? op_case().f32_tolerance * std::max(0.01, largest(b)) : 0;
    for (std::size_t e = 0; e < a.size(); ++e)
      ASSERT_NEAR(a[e], b[e], tolerance) << buffer.name << "[" << e << "]";
  }
}

void expect_same_bits(const OpVariant& variant, const KernelSet& kernels, bool thread_invariant) {
  HostBuffers first_of_all;
  for (const int threads : {1, 2, 3}) {
    HostBuffers first = variant.buffers(), again = variant.buffers();
    interpret(variant.graph, kernels, first, {.threads = threads, .seed = 3, .poison = std::byte{0xFF}});
    interpret(variant.graph, kernels, again,
              {.threads = threads, .seed = 3, .poison = std::byte{0x3C}, .shift_bytes = 24});
    for (const auto& [name, bytes] : first)
      ASSERT_EQ(bytes, again.at(name)) << name << ", " << threads << " threads";
    if (first_of_all.empty()) first_of_all = first;
    if (!thread_invariant) continue;
    for (const auto& [name, bytes] : first)
      ASSERT_EQ(bytes, first_of_all.at(name)) << name << " differs between 1 and " << threads << " threads";
  }
}

TEST_P(Ops, SameBitsAtOtherAddressesAndThreadCounts) {
  expect_same_bits(OpVariant(op_case(), DType::f32, layout(), true), with_test_ops(cpu_kernels()),
                   op_case().thread_invariant == OpCase::ThreadInvariant::all);
}

// Where a library's fast kernels depend on the thread count, ours may not.
TEST_P(Ops, PortableKernelsGiveTheSameBitsForAllThreadCounts) {
  if (op_case().thread_invariant == OpCase::ThreadInvariant::none) return;
  for (const DType dtype : {DType::f32, DType::f64})
    expect_same_bits(OpVariant(op_case(), dtype, layout(), true), with_test_ops(portable_kernels()), true);
}

TEST_P(Ops, SameBitsInPlace) {
  const KernelSet kernels = with_test_ops(cpu_kernels());
  for (const DType dtype : {DType::f32, DType::f64}) {
    const OpVariant variant(op_case(), dtype, layout(), true);
    HostBuffers apart = variant.buffers();
    interpret(variant.graph, kernels, apart, {.threads = 2});
    for (const Alias& alias : allowed_aliases(variant.graph)) {
      HostBuffers shared = variant.buffers();
      interpret(variant.graph, kernels, shared, {.threads = 2, .alias = alias});
      for (const auto& [name, bytes] : apart)
        ASSERT_EQ(bytes, shared.at(name)) << name << " with output " << alias.output << " of node "
                                          << alias.node << " in place of input " << alias.input;
    }
  }
}

TEST_P(Ops, LayoutsAgree) {
  if (layout() == Layout::row_major) return;
  const KernelSet kernels = with_test_ops(portable_kernels());
  const OpVariant nchw(op_case(), DType::f64, Layout::row_major, true),
      nhwc(op_case(), DType::f64, layout(), true);
  HostBuffers a = nchw.buffers(), b = nhwc.buffers();
  interpret(nchw.graph, kernels, a);
  interpret(nhwc.graph, kernels, b);
  if (op_case().name.starts_with("dropout")) return;  // draws follow memory order
  const auto compare = [&](const Tensor& x, const Tensor& y) {
    const auto p = to_logical(x.spec(), tensor_bytes(x, a)), q = to_logical(y.spec(), tensor_bytes(y, b));
    ASSERT_EQ(p.size(), q.size());
    const double tolerance = 1e-11 * std::max(1.0, largest(p));
    for (std::size_t e = 0; e < p.size(); ++e) ASSERT_NEAR(p[e], q[e], tolerance) << x.name();
  };
  for (std::size_t i = 0; i < nchw.results.size(); ++i) compare(nchw.results[i], nhwc.results[i]);
  for (std::size_t i = 0; i < nchw.gradients.size(); ++i) compare(nchw.gradients[i], nhwc.gradients[i]);
}

INSTANTIATE_TEST_SUITE_P(Table, Ops, testing::ValuesIn(variants()), variant_name);

TEST(OpTable, CoversEveryCpuKernel) {
  std::set<std::string> tested;
  for (const OpCase& op_case : op_table()) {
    for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
      const OpVariant variant(op_case, DType::f32, layout, true);
      for (const Node& node : variant.graph.nodes()) tested.emplace(node.op->type());
    }
  }
  for (const KernelSet& kernels : {cpu_kernels(), portable_kernels()})
    for (const std::string& type : kernels.types())
      EXPECT_TRUE(tested.contains(type)) << type << " is not tested";
}

TEST(OpTable, NamesAreUnique) {
  std::set<std::string> names;
  for (const OpCase& op_case : op_table()) EXPECT_TRUE(names.insert(op_case.name).second) << op_case.name;
}

}  // namespace
}  // namespace swapadvisor
