// Every planner on graphs of unusual shape: it plans, and the verifier agrees, at any limit that the neediest
// op fits in; below that it refuses with a sentence.
#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/swap/verify.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>

namespace swapadvisor {
namespace {

class OddShape : public PlanGraph {
 public:
  explicit OddShape(std::string shape) { name = std::move(shape); }

  std::int32_t buffer(BufferKind kind, std::int64_t bytes) {
    buffers.push_back({fmt::format("b{}", buffers.size()), bytes, kind});
    return static_cast<std::int32_t>(buffers.size()) - 1;
  }
  void op(std::vector<std::int32_t> in, std::vector<std::int32_t> out, double seconds) {
    ops.push_back(
        {fmt::format("op{}", ops.size()), "type", std::move(in), std::move(out), 0, seconds, true, true});
  }
};

constexpr auto parameter = BufferKind::parameter, input = BufferKind::input, output = BufferKind::output,
               temporary = BufferKind::temporary, state = BufferKind::state;

// A chain of `ops` ops, each of which also reads what ten ops before wrote.
OddShape chain(const std::string& name, int ops, std::int64_t bytes, double seconds) {
  OddShape shape(name);
  std::vector<std::int32_t> values{shape.buffer(input, bytes)};
  for (int i = 0; i < ops; ++i) {
    std::vector<std::int32_t> in{values.back(), shape.buffer(parameter, bytes)};
    if (values.size() > 10) in.push_back(values[values.size() - 10]);
    values.push_back(shape.buffer(i + 1 == ops ? output : temporary, bytes));
    shape.op(in, {values.back()}, seconds);
  }
  return shape;
}

OddShape one_op() {
  OddShape shape("one op");
  const std::int32_t w = shape.buffer(parameter, 1), x = shape.buffer(input, 1);
  shape.op({w, x}, {w}, 1e-3);
  return shape;
}

OddShape one_huge_op() {
  OddShape shape("one huge op among small ones");
  std::vector<std::int32_t> in, out;
  for (int i = 0; i < 300; ++i) {
    in.push_back(shape.buffer(i % 2 ? parameter : state, 1 << 20));
    shape.op({in.back()}, {in.back()}, 1e-3);
  }
  for (int i = 0; i < 100; ++i) out.push_back(shape.buffer(temporary, 5000 + i));
  shape.op(in, out, 1);
  shape.ops.back().workspace_bytes = 1 << 28;
  for (std::int32_t b : out) shape.op({b}, {shape.buffer(output, 4)}, 1e-3);
  return shape;
}

OddShape no_temporaries() {
  OddShape shape("no temporaries");
  const std::int32_t x = shape.buffer(input, 3000);
  for (int i = 0; i < 20; ++i) {
    const std::int32_t w = shape.buffer(parameter, 10000 + i), m = shape.buffer(state, 20000);
    shape.op({w, m, x}, {w, m}, 1e-6);
    shape.op({w}, {shape.buffer(output, 500)}, 1e-6);
  }
  return shape;
}

OddShape tiny_buffers() {
  OddShape shape("thousands of buffers of a byte");
  for (int i = 0; i < 250; ++i) {
    std::vector<std::int32_t> in, out;
    for (int k = 0; k < 8; ++k) in.push_back(shape.buffer(k == 0 ? parameter : input, 1));
    for (int k = 0; k < 4; ++k) out.push_back(shape.buffer(temporary, 1));
    if (i > 0) in.insert(in.end(), shape.ops.back().outputs.begin(), shape.ops.back().outputs.end());
    shape.op(in, out, 1e-5);
  }
  return shape;
}

OddShape one_shared_buffer() {
  OddShape shape("one buffer that every op uses");
  const std::int32_t shared = shape.buffer(parameter, 1 << 20);
  for (int i = 0; i < 60; ++i) {
    const std::int32_t t = shape.buffer(temporary, 1 << 19), w = shape.buffer(parameter, 1 << 19);
    shape.op({shared, w}, {t}, 1e-3);
    shape.op({shared, t}, {shared}, 1e-3);
  }
  return shape;
}

OddShape no_operands() {
  OddShape shape("ops without inputs or outputs");
  const std::int32_t t = shape.buffer(temporary, 5000);
  shape.op({}, {}, 1e-3);
  shape.op({}, {t}, 1e-3);
  shape.op({t}, {}, 1e-3);
  shape.op({}, {}, 0);
  shape.ops.back().workspace_bytes = 7000;
  return shape;
}

OddShape unused_buffers() {
  OddShape shape = chain("buffers that no op uses", 5, 3000, 1e-3);
  for (BufferKind kind : {parameter, state, input, temporary}) shape.buffer(kind, 1 << 20);
  return shape;
}

OddShape mixed_sizes() {
  OddShape shape("a byte beside a terabyte");
  std::int32_t last = shape.buffer(input, 1);
  for (int i = 0; i < 12; ++i) {
    const std::int32_t next = shape.buffer(temporary, i % 2 ? 1 : (std::int64_t{1} << 41) + i);
    shape.op({last, shape.buffer(parameter, i % 3 ? 1 : std::int64_t{1} << 42)}, {next}, i % 4 ? 0 : 100);
    last = next;
  }
  return shape;
}

std::vector<OddShape> shapes() {
  return {one_op(),
          one_huge_op(),
          no_temporaries(),
          tiny_buffers(),
          one_shared_buffer(),
          no_operands(),
          unused_buffers(),
          mixed_sizes(),
          chain("no seconds at all", 30, 100000, 0),
          chain("a byte each", 30, 1, 1e-3),
          chain("petabytes", 30, (std::int64_t{1} << 50) + 1, 1e-3),
          chain("ages", 30, 100000, 1e9),
          OddShape("nothing")};
}

PlanRequest request_for(const PlanGraph& graph, std::int64_t memory) {
  PlanRequest request;
  request.graph = &graph;
  request.device.name = "odd";
  request.device.memory_bytes = memory;
  request.device.h2d_bytes_per_second = request.device.d2h_bytes_per_second = 1e9;
  request.device.duplex_bytes_per_second = 1.5e9;
  request.device.copy_latency_seconds = 1e-5;
  request.search_evaluations = 40;
  return request;
}

void expect_plan(const PlanRequest& request, const std::string& planner) {
  try {
    const Program program = make_planner(planner)->plan(request);
    const Verdict verdict = verify(program);
    EXPECT_TRUE(verdict.valid) << verdict.error;
    EXPECT_LE(program.predicted.peak_bytes, request.device.memory_bytes);
    EXPECT_TRUE(std::isfinite(program.predicted.iteration_seconds) &&
                std::isfinite(program.predicted.efficiency));
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

std::ostream& operator<<(std::ostream& out, const OddShape& shape) {
  return out << shape.name;
}

class OddGraph : public testing::TestWithParam<OddShape> {};

TEST_P(OddGraph, EveryPlannerPlansWhateverItsNeediestOpFitsIn) {
  const PlanGraph& graph = GetParam();
  check(graph);
  const std::int64_t needed = device_bytes_needed(graph), least = largest_op_bytes(graph);
  for (const PlannerInfo& info : planner_list()) {
    for (const std::int64_t memory : {needed, least + (needed - least) / 2, least}) {
      SCOPED_TRACE(fmt::format("{} with {} bytes of {}", info.name, memory, needed));
      if (memory == needed || info.name != "none") expect_plan(request_for(graph, memory), info.name);
    }
    if (least == 0) continue;
    try {
      make_planner(info.name)->plan(request_for(graph, least - arena_alignment));
      ADD_FAILURE() << info.name << " plans with less than an op needs";
    } catch (const Error& error) {
      const std::string sentence = error.what();
      for (const char* part : {"needs", "of device memory, limit"})
        EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
    }
  }
}

std::string name_of_test(const testing::TestParamInfo<OddShape>& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Planners, OddGraph, testing::ValuesIn(shapes()), name_of_test);

}  // namespace
}  // namespace swapadvisor
