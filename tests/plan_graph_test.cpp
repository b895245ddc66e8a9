#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/plan_graph.h>
#include <swapadvisor/core/program.h>

#include <functional>
#include <limits>

namespace swapadvisor {
namespace {

PlanGraph small_graph() {
  PlanGraph graph;
  graph.name = "small";
  graph.buffers = {{"x", 4, BufferKind::input},
                   {"w", 8, BufferKind::parameter},
                   {"h", 16, BufferKind::temporary},
                   {"loss", 4, BufferKind::output}};
  graph.ops = {{"f", "f", {0, 1}, {2}, 0, 0.5, true, false},
               {"g", "g", {2}, {3}, 64, 0.25, false, true},
               {"sgd", "sgd", {1, 2}, {1}, 0, 0.25, false, false}};
  return graph;
}

std::string error_of(const std::function<void(PlanGraph&)>& change) {
  PlanGraph graph = small_graph();
  change(graph);
  try {
    check(graph);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PlanGraph, ValidGraphsPass) {
  EXPECT_NO_THROW(check(small_graph()));
  EXPECT_NO_THROW(check(PlanGraph{}));
}

TEST(PlanGraph, CheckNamesWhatIsWrong) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' lacks '" << part << "'";
  };
  has(error_of([](PlanGraph& g) { g.buffers[2].bytes = 0; }), "'h' has 0 bytes");
  has(error_of([](PlanGraph& g) { g.buffers[2].bytes = std::numeric_limits<std::int64_t>::max(); }),
      "'h' has");
  has(error_of(
          [](PlanGraph& g) { g.buffers[0].bytes = g.buffers[1].bytes = g.buffers[2].bytes = 1LL << 59; }),
      "exceed 2^60 bytes together");
  has(error_of([](PlanGraph& g) { g.ops[1].seconds = -1; }), "op 1 'g' takes -1 seconds");
  has(error_of([](PlanGraph& g) { g.ops[1].seconds = std::numeric_limits<double>::quiet_NaN(); }),
      "op 1 'g'");
  has(error_of([](PlanGraph& g) { g.ops[1].workspace_bytes = -1; }), "-1 workspace bytes");
  has(error_of([](PlanGraph& g) { g.ops[0].inputs[1] = 4; }), "op 0 'f' reads buffer 4, but there are 4");
  has(error_of([](PlanGraph& g) { g.ops[0].inputs[1] = -1; }), "reads buffer -1");
  has(error_of([](PlanGraph& g) { g.ops[0].outputs[0] = 9; }), "writes buffer 9");
  has(error_of([](PlanGraph& g) { g.ops[0].outputs = {2, 2}; }), "writes buffer 2 twice");
  has(error_of([](PlanGraph& g) { g.ops[0].outputs = {0}; }), "writes input buffer 'x'");
  has(error_of([](PlanGraph& g) { std::swap(g.ops[0], g.ops[1]); }),
      "reads buffer 2 'h' before any op writes it");
  has(error_of([](PlanGraph& g) { g.ops[1].outputs.clear(); }), "output buffer 3 'loss' is never written");
}

TEST(PlanGraph, SameStructureIgnoresSecondsAndTheGraphsName) {
  PlanGraph other = small_graph();
  other.name += "2";
  other.ops[0].seconds = 7;
  EXPECT_TRUE(same_structure(small_graph(), other));
}

TEST(PlanGraph, StructureDifferenceNamesTheFirst) {
  PlanGraph other = small_graph();
  EXPECT_EQ(structure_difference(small_graph(), other), "");
  other.ops[0].workspace_bytes = 7;
  EXPECT_THAT(structure_difference(small_graph(), other),
              testing::StartsWith("op '" + other.ops[0].name + "' has 7 workspace bytes there, 0 here"));
  other.buffers[0].bytes = 5;
  EXPECT_EQ(structure_difference(small_graph(), other),
            fmt::format("buffer '{}' has 5 bytes there, {} here", other.buffers[0].name,
                        small_graph().buffers[0].bytes));
  other.ops.pop_back();
  EXPECT_THAT(structure_difference(small_graph(), other), testing::StartsWith("it has "));
}

TEST(PlanGraph, AlgorithmsDifferOnlyWhereBothAreKnown) {
  PlanGraph here = small_graph(), there = small_graph();
  here.ops[0].algorithm = "cuDNN forward 1 fma";
  EXPECT_TRUE(same_structure(here, there) && same_structure(there, here));
  there.ops[0].algorithm = "cuDNN forward 0 fma";
  EXPECT_EQ(
      structure_difference(here, there),
      fmt::format(
          "op '{}' takes 'cuDNN forward 0 fma' there, 'cuDNN forward 1 fma' here, which gives other bits",
          here.ops[0].name));
}

TEST(PlanGraph, SameStructureSeesEveryOtherField) {
  const std::function<void(PlanGraph&)> changes[] = {
      [](PlanGraph& g) { g.buffers[0].name += "z"; },
      [](PlanGraph& g) { g.buffers[0].bytes = 5; },
      [](PlanGraph& g) { g.buffers[1].kind = BufferKind::state; },
      [](PlanGraph& g) { g.buffers.push_back(g.buffers[0]); },
      [](PlanGraph& g) { g.ops[0].name += "z"; },
      [](PlanGraph& g) { g.ops[0].type += "z"; },
      [](PlanGraph& g) {
        g.ops[0].inputs = {1, 0};
      },
      [](PlanGraph& g) { g.ops[0].outputs = {3}; },
      [](PlanGraph& g) { g.ops[0].workspace_bytes = 1; },
      [](PlanGraph& g) { g.ops[0].recomputable = false; },
      [](PlanGraph& g) { g.ops[0].inplace = true; },
      [](PlanGraph& g) { g.ops.pop_back(); }};
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    PlanGraph other = small_graph();
    changes[i](other);
    EXPECT_FALSE(same_structure(small_graph(), other)) << "change " << i;
    EXPECT_FALSE(same_structure(other, small_graph())) << "change " << i;
  }
}

TEST(PlanGraph, TotalSecondsCountsEveryOpOnce) {
  EXPECT_DOUBLE_EQ(total_seconds(small_graph()), 1.0);
}

TEST(PlanGraph, HostSlotsArePagesAndTwoForInputsAndOutputs) {
  PlanGraph graph = small_graph();
  graph.buffers[2].bytes = 5000;
  EXPECT_EQ(host_bytes_needed(graph, {}), 4096 * (2 + 1 + 2));
  const std::vector<Instruction> swap = {{InstructionKind::swap_out, 2, {0}, {}, {}}};
  EXPECT_EQ(host_bytes_needed(graph, swap), 4096 * (2 + 1 + 2 + 2));
}

}  // namespace
}  // namespace swapadvisor
