#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/swap/genome.h>
#include <swapadvisor/swap/plan_builder.h>
#include <swapadvisor/swap/pool_walk.h>
#include <swapadvisor/swap/verify.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace swapadvisor {
namespace {

using Ops = std::vector<std::int32_t>;

PlanOp op(Ops inputs, Ops outputs, std::int64_t workspace = 0, bool inplace = false) {
  return {"op", "op", std::move(inputs), std::move(outputs), workspace, 1, false, inplace};
}

DeviceSpec device() {
  DeviceSpec spec;
  spec.h2d_bytes_per_second = spec.d2h_bytes_per_second = 256;  // one unit per second
  return spec;
}

/// A walk of a graph's own order.
struct Walk {
  Walk(PlanGraph g, const std::vector<std::int32_t>& count, bool clean = false)
      : graph(std::move(g)), table(graph), demand(graph), walker(table, demand, {clean}) {
    SizeClassPool pool = smallest_pool(demand);
    pool.count = count;
    for (std::size_t s = 0; s < pool.class_of.size(); ++s) pool.class_of[s] = static_cast<std::int32_t>(s);
    map_to_existing_classes(pool);
    walker.set_order(given_order(graph));
    walker.walk(pool, true);
  }

  /// "run 0, out 1@256, in 1@0, …"
  std::string text() {
    std::string result;
    const InstructionList& list = walker.instructions();
    for (std::size_t k = 0; k < list.entries.size(); ++k) {
      const InstructionList::Entry& entry = list.entries[k];
      if (k > 0) result += ", ";
      if (entry.kind == InstructionKind::run)
        fmt::format_to(std::back_inserter(result), "run {}", entry.target);
      else
        fmt::format_to(std::back_inserter(result), "{} {}@{}", entry.kind == InstructionKind::swap_in ? "in" : "out",
                       entry.target, list.offsets_of(k)[0]);
    }
    return result;
  }

  PlanGraph graph;
  OpTable table;
  PoolDemand demand;
  PoolWalker walker;
};

// One class of two objects. Op 2 needs room: buffer 1 is used at op 4, buffer 0 is an operand. Its swap-out
// follows its last use (op 1); it comes back when buffer 0, which dies at op 2, has left its object.
TEST(PoolWalk, EvictsAndPrefetches) {
  PlanGraph graph;
  for (int b = 0; b < 4; ++b) graph.buffers.push_back({"t", 256, BufferKind::temporary});
  graph.buffers[3].kind = BufferKind::output;
  graph.ops = {op({}, {0}), op({}, {1}), op({0}, {2}), op({2}, {2}), op({1, 2}, {2}), op({2}, {3})};
  Walk walk(graph, {2});
  // Buffer 0 takes the object freed last (256), buffer 1 the other.
  EXPECT_EQ(walk.text(), "run 0, run 1, out 1@0, run 2, in 1@256, run 3, run 4, run 5, out 3@256");
  EXPECT_TRUE(walk.walker.residents().empty());
}

// Three objects for four buffers. At op 3 buffer 3 needs room: of 0 (next use: op 5) and 1 (op 4), the one
// whose next use lies furthest ahead leaves, though it was used less recently in the second case.
TEST(PoolWalk, VictimHasTheFurthestNextUse) {
  PlanGraph graph;
  for (int b = 0; b < 5; ++b) graph.buffers.push_back({"t", 256, BufferKind::temporary});
  graph.buffers[4].kind = BufferKind::output;
  graph.ops = {op({}, {0}), op({}, {1}), op({}, {2}), op({2}, {3}), op({1, 3}, {3}), op({0, 3}, {4})};
  EXPECT_EQ(Walk(graph, {3}).text(),
            "run 0, out 0@512, run 1, run 2, run 3, in 0@0, run 4, run 5, out 4@256");
  graph.ops[4].inputs = {0, 3};
  graph.ops[5].inputs = {1, 3};
  EXPECT_EQ(Walk(graph, {3}).text(),
            "run 0, run 1, out 1@256, run 2, run 3, in 1@0, run 4, run 5, out 4@512");
}

// Two classes. The op that needs a small object evicts a small buffer, though a large one is used later.
TEST(PoolWalk, VictimsComeFromTheClass) {
  PlanGraph graph;
  for (std::int64_t bytes : {512, 256, 256, 256, 512})
    graph.buffers.push_back({"t", bytes, BufferKind::temporary});
  graph.buffers[4].kind = BufferKind::output;
  graph.ops = {op({}, {0}), op({}, {1}), op({}, {2}), op({2}, {3}), op({1, 3}, {3}), op({3, 0}, {4})};
  Walk walk(graph, {2, 2});
  const std::string text = walk.text();
  EXPECT_NE(text.find("out 1@"), std::string::npos) << text;
  EXPECT_EQ(text.find("out 0@"), std::string::npos) << text;
}

// Three parameters, room for two of them beside a temporary and the output. The first pass, starting with
// none, ends with what the second starts and ends with.
TEST(PoolWalk, SecondPassStartsAndEndsWhereTheFirstEnded) {
  PlanGraph graph;
  for (int b = 0; b < 3; ++b) graph.buffers.push_back({"w", 256, BufferKind::parameter});
  graph.buffers.push_back({"t", 256, BufferKind::temporary});
  graph.buffers.push_back({"o", 256, BufferKind::output});
  graph.ops = {op({0}, {3}), op({1, 3}, {3}), op({2, 3}, {4})};
  Walk walk(graph, {4});
  // First pass: 2 takes the last free object at op 2, and for the output one of 0 (next use: step 3) and 1
  // (step 4) has to go: 1, whose next use lies further ahead. So 0 and 2 are left.
  Ops boundary;
  for (const Resident& resident : walk.walker.residents()) boundary.push_back(resident.buffer);
  std::sort(boundary.begin(), boundary.end());
  EXPECT_EQ(boundary, (Ops{0, 2}));
  Program program;
  program.graph = walk.graph;
  program.device = device();
  program.resident = walk.walker.residents();
  FlatProgram flat;
  WaitInference(walk.table).infer(walk.walker.instructions(), flat);
  expand(walk.walker.instructions(), flat, program);
  program.arena_bytes = 4 * 256;
  program.host_bytes = host_bytes_needed(program.graph, program.instructions);
  const Verdict verdict = verify(program);
  EXPECT_TRUE(verdict.valid) << verdict.error;
}

// A parameter that nothing writes: the paper's planner copies the victim out all the same.
TEST(PoolWalk, CleanVictimsNeedNoSwapOut) {
  PlanGraph graph;
  for (int b = 0; b < 2; ++b) graph.buffers.push_back({"w", 256, BufferKind::parameter});
  graph.buffers.push_back({"t", 256, BufferKind::temporary});
  graph.buffers.push_back({"o", 256, BufferKind::output});
  graph.ops = {op({0}, {2}), op({1, 2}, {2}), op({2}, {3})};
  EXPECT_NE(Walk(graph, {2}).text().find("out 0@"), std::string::npos);
  Walk clean(graph, {2}, true);
  EXPECT_EQ(clean.text().find("out 0@"), std::string::npos) << clean.text();
}

// The small object is taken by a buffer that the op needs, so its other small operand takes a large one; when
// that has filled all large objects, the operands are packed anew. Both must give right programs.
TEST(PoolWalk, OperandsOverflowIntoLargerClassesAndArePacked) {
  PlanGraph graph;
  for (std::int64_t bytes : {256, 256, 512, 256})
    graph.buffers.push_back({"t", bytes, BufferKind::temporary});
  graph.buffers.push_back({"o", 512, BufferKind::output});
  graph.ops = {op({}, {0, 1}), op({}, {3}), op({0, 3}, {4})};
  Walk walk(graph, {1, 2});
  for (std::int32_t step = 0; step < 3; ++step) {
    const auto objects = walk.walker.run_objects(step);
    const auto& slots = walk.table.slots(step);
    for (std::size_t k = 0; k < slots.size(); ++k)
      EXPECT_GE(walk.walker.object_bytes(objects[k]), walk.table.bytes(slots[k]));
  }
}

TEST(PoolWalk, RandomGraphsGiveValidProgramsTimedExactly) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const PlanGraph graph = random_plan_graph(seed);
    const DeviceSpec spec = random_device(seed, graph);
    const PoolDemand demand(graph);
    const std::int64_t smallest = pool_bytes(demand, smallest_pool(demand));
    const std::int64_t limit = smallest + smallest * static_cast<std::int64_t>(seed % 4) / 2;
    const OpTable table(graph);
    const Dependencies dependencies(graph);
    const PoolOperators operators(demand, {demand.owners().begin(), demand.owners().end()}, limit);
    Draws draws({seed, 0, 0});
    Genome genome;
    OrderMutation(dependencies).apply(given_order(graph), 0.5, draws, genome.order);
    std::vector<bool> some(demand.size_count());
    for (std::size_t s = 0; s < some.size(); ++s) some[s] = draws.chance(0.5);
    genome.pool = operators.make(some, 2, draws);
    operators.mutate(genome.pool, draws);
    PoolWalker walker(table, demand, {seed % 2 == 1});
    walker.set_order(genome.order);
    walker.walk(genome.pool, true);
    const double predicted = Simulator(spec).iteration_seconds(walker.queues());

    Program program;
    program.graph = graph;
    program.device = spec;
    program.device.memory_bytes = limit;
    program.device.host_bytes = DeviceSpec::unbounded;
    program.resident = walker.residents();
    FlatProgram flat;
    WaitInference(table).infer(walker.instructions(), flat);
    expand(walker.instructions(), flat, program);
    program.host_bytes = host_bytes_needed(graph, program.instructions);
    program.arena_bytes = round_up(peak_bytes(program), arena_alignment);
    EXPECT_LE(program.arena_bytes, limit);
    const Verdict verdict = verify(program);
    ASSERT_TRUE(verdict.valid) << verdict.error;
    const double exact = simulate(program).iteration_seconds;
    ASSERT_NEAR(predicted, exact, 1e-9 * exact);
  }
}

}  // namespace
}  // namespace swapadvisor
