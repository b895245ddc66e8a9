#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/plan_builder.h>
#include <swapadvisor/swap/verify.h>

#include <string>

namespace swapadvisor {
namespace {

PlanOp op(std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs, std::int64_t workspace = 0,
          bool inplace = false) {
  return {"op", "op", std::move(inputs), std::move(outputs), workspace, 1, false, inplace};
}

DeviceSpec device(std::int64_t memory) {
  DeviceSpec spec;
  spec.name = "test";
  spec.memory_bytes = memory;
  spec.h2d_bytes_per_second = spec.d2h_bytes_per_second = 1e9;
  return spec;
}

/// "in 2@256, run 0@0/256, …".
std::string text(const InstructionList& list) {
  std::string all;
  for (std::size_t i = 0; i < list.entries.size(); ++i) {
    static const char* const names[] = {"run", "in", "out"};
    const auto& entry = list.entries[i];
    all += fmt::format("{}{} {}@{}", i ? ", " : "", names[static_cast<int>(entry.kind)], entry.target,
                       fmt::join(list.offsets_of(i), "/"));
  }
  return all;
}

std::string text(std::span<const Resident> residents) {
  std::string all;
  for (const Resident& r : residents) all += fmt::format("{}@{}{} ", r.buffer, r.offset, r.dirty ? "!" : "");
  return all;
}

struct Case {
  PlanGraph graph;
  std::int64_t memory = 0;

  std::string walk(WalkPolicy policy, std::span<const Resident> start = {}) {
    check(graph);
    const OpTable table(graph);
    Walker walker(table, device(memory));
    const std::vector<std::int32_t> order = given_order(graph);
    walker.walk({order, start, true, policy});
    at_last_op = text(walker.residents_at_last_op());
    residents = text(walker.residents());
    PlanRequest request;
    request.graph = &graph;
    request.device = device(memory);
    FlatProgram waits;
    WaitInference(table).infer(walker.instructions(), waits);
    program = finish_program("test", request, walker.instructions(), waits, walker.residents());
    EXPECT_EQ(verify(program).error, "");
    return text(walker.instructions());
  }

  std::string at_last_op, residents;
  Program program;
};

Case three_parameters() {
  Case c;
  c.graph.buffers = {{"a", 256, BufferKind::parameter},
                     {"b", 256, BufferKind::parameter},
                     {"c", 256, BufferKind::parameter}};
  c.graph.ops = {op({0}, {}), op({1}, {}), op({2}, {}), op({0}, {}), op({1}, {})};
  c.memory = 512;
  return c;
}

/// Looks at next uses only, not at stalls.
WalkPolicy pure_belady() {
  WalkPolicy policy;
  policy.stall_weight = 0;
  return policy;
}

TEST(Walk, StallsCountAsWell) {
  Case c = three_parameters();
  // Evicting a for c costs a copy more than evicting b, but b would be free only when op 1 is done.
  EXPECT_EQ(c.walk({}).substr(0, 38), "in 0@0, in 1@256, run 0@0, in 2@0, run");
}

TEST(Walk, BeladyEvictsTheFurthestNextUseAndPrefetches) {
  Case c = three_parameters();
  // c takes the place of b (used again last) once op 1 is done; b that of c, which is needed in the next
  // iteration only.
  EXPECT_EQ(c.walk(pure_belady()),
            "in 0@0, in 1@256, run 0@0, run 1@256, in 2@256, run 2@256, in 1@256, run 3@0, run 4@256");
  EXPECT_EQ(c.at_last_op, "0@0 1@256 ");
  EXPECT_EQ(c.residents, "");
  EXPECT_EQ(c.program.predicted.swap_in_bytes, 4 * 256);
  EXPECT_EQ(c.program.predicted.swap_out_bytes, 0);
  EXPECT_EQ(c.program.instructions[4].wait, std::vector<std::int32_t>{3});
}

TEST(Walk, SecondPassStartsAndEndsWithTheFirstOnesResidents) {
  Case c = three_parameters();
  const std::vector<Resident> start = {{0, 0, false}, {1, 256, false}};
  EXPECT_EQ(c.walk(pure_belady(), start),
            "run 0@0, run 1@256, in 2@256, run 2@256, in 1@256, run 3@0, run 4@256");
  EXPECT_EQ(c.residents, "0@0 1@256 ");
}

TEST(Walk, LruEvictsTheLeastRecentlyUsedOnDemand) {
  Case c = three_parameters();
  WalkPolicy lru;
  lru.eviction = WalkPolicy::Eviction::lru;
  lru.on_demand = true;
  EXPECT_EQ(c.walk(lru),
            "in 0@0, run 0@0, in 1@256, run 1@256, in 2@0, run 2@0, in 0@256, run 3@256, in 1@0, run 4@0");
  EXPECT_EQ(c.program.instructions[0].wait_previous, std::vector<std::int32_t>{9})
      << "waits for the last run";
  EXPECT_EQ(c.program.instructions[2].wait, std::vector<std::int32_t>{1}) << "no prefetch";
}

TEST(Walk, DirtyVictimsAreSwappedOutAfterTheirLastWrite) {
  Case c;
  c.graph.buffers = {{"t", 256, BufferKind::temporary}, {"u", 512, BufferKind::temporary}};
  c.graph.ops = {op({}, {0}), op({0}, {}), op({}, {1}), op({1}, {}), op({0}, {})};
  c.memory = 512;
  EXPECT_EQ(c.walk({}), "run 0@0, out 0@0, run 1@0, run 2@0, run 3@0, in 0@0, run 4@0");
}

TEST(Walk, CleanVictimsAreDropped) {
  Case c;
  c.graph.buffers = {{"x", 512, BufferKind::input}, {"u", 512, BufferKind::temporary}};
  c.graph.ops = {op({0}, {}), op({}, {1}), op({1}, {}), op({0}, {})};
  c.memory = 512;
  EXPECT_EQ(c.walk({}), "in 0@0, run 0@0, run 1@0, run 2@0, in 0@0, run 3@0");
}

TEST(Walk, OutputTakesThePlaceOfADyingInput) {
  Case c;
  c.graph.buffers = {{"t", 500, BufferKind::temporary}, {"u", 500, BufferKind::temporary}};
  c.graph.ops = {op({}, {0}), op({0}, {1}, 0, true), op({1}, {})};
  c.memory = 512;
  EXPECT_EQ(c.walk({}), "run 0@0, run 1@0/0, run 2@0");
}

TEST(Walk, OutputsAreSwappedOutAfterTheirLastWrite) {
  Case c;
  c.graph.buffers = {{"o", 4, BufferKind::output}};
  c.graph.ops = {op({}, {0}), op({0}, {0}), op({0}, {})};
  c.memory = 256;
  EXPECT_EQ(c.walk({}), "run 0@0, run 1@0/0, out 0@0, run 2@0");
}

TEST(Walk, UpdatedResidentsAreDirtyOthersClean) {
  Case c;
  c.graph.buffers = {{"w", 256, BufferKind::parameter}, {"s", 256, BufferKind::state}};
  c.graph.ops = {op({0, 1}, {0})};
  c.memory = 512;
  c.walk({});
  EXPECT_EQ(c.at_last_op, "1@0 0@256! ") << "operands only read come first";
  // A promise of a clean copy, which the update breaks, is kept by a swap-out.
  const std::vector<Resident> clean = {{1, 0, false}, {0, 256, false}};
  EXPECT_EQ(c.walk({}, clean), "run 0@256/0/256, out 0@256");
  const std::vector<Resident> dirty = {{1, 0, false}, {0, 256, true}};
  EXPECT_EQ(c.walk({}, dirty), "run 0@256/0/256");
  EXPECT_EQ(c.residents, "1@0 0@256! ");
}

TEST(Walk, BadlyPlacedOperandsArePacked) {
  Case c;
  c.graph.buffers = {{"a", 256, BufferKind::parameter}, {"big", 512, BufferKind::parameter}};
  c.graph.ops = {op({0, 1}, {})};
  c.memory = 768;
  const std::vector<Resident> middle = {{0, 256, false}};
  EXPECT_EQ(c.walk({}, middle), "in 0@0, in 1@256, run 0@0/256, in 0@256");
}

TEST(Walk, RefusesOnlyWhatOneOpAloneNeeds) {
  PlanGraph graph;
  graph.buffers = {{"a", 1000, BufferKind::parameter}, {"b", 1, BufferKind::temporary}};
  graph.ops = {op({0}, {1}, 257)};
  graph.ops[0].name = "layer1.conv";
  graph.ops[0].type = "conv2d";
  const OpTable table(graph);
  const std::vector<std::int32_t> order = {0};
  Walker fits(table, device(1024 + 256 + 512));
  EXPECT_NO_THROW(fits.walk({order, {}, true, {}}));
  Walker tight(table, device(1024 + 256 + 512 - 1));
  for (int again = 0; again < 2; ++again) {
    try {
      tight.walk({order, {}, true, {}});
      FAIL();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "op 'layer1.conv' (conv2d) needs 1.75 KiB of device memory, limit 1.50 KiB");
    }
  }
}

TEST(Walk, SmallBuffersStayAtFixedAddresses) {
  Case c;
  c.graph.buffers = {{"w", 4, BufferKind::parameter},
                     {"x", 100000, BufferKind::temporary},
                     {"y", 100000, BufferKind::temporary}};
  c.graph.ops = {op({0}, {1}), op({}, {2}), op({0, 2}, {0}), op({1}, {})};
  c.memory = 100096 + 256;
  WalkPolicy policy;
  policy.fixed_fraction = policy.fixed_largest = 0.01;
  EXPECT_EQ(c.walk(policy), "run 0@0/256, out 1@256, run 1@256, run 2@0/256/0, in 1@256, run 3@256");
  EXPECT_EQ(c.residents, "0@0! ");
}

TEST(Walk, AWalkerForgetsNothingItShouldKnowOfOtherOrders) {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    const OpTable table(graph);
    const DeviceSpec spec = random_device(seed, graph);
    const std::vector<std::int32_t> order = given_order(graph);
    Walker fresh(table, spec), used(table, spec);
    WalkPolicy lru;
    lru.eviction = WalkPolicy::Eviction::lru;
    lru.fixed_fraction = lru.fixed_largest = 0.1;
    used.walk({order, {}, true, lru});
    used.walk({order, {}, true, {}});
    fresh.walk({order, {}, true, {}});
    EXPECT_EQ(text(used.instructions()), text(fresh.instructions()));
  }
}

}  // namespace
}  // namespace swapadvisor
