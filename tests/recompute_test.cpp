#include <gtest/gtest.h>
#include <random_plan_graph.h>
#include <swapadvisor/swap/dependencies.h>
#include <swapadvisor/swap/recompute.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace swapadvisor {
namespace {

using Ops = std::vector<std::int32_t>;

// Forward: x → a (op 0, dear) → b (op 1, cheap) → c (op 2, cheap); backward reads c, b, a: ops 3, 4, 5.
PlanGraph chain() {
  PlanGraph graph;
  graph.buffers = {{"x", 256, BufferKind::input},      {"a", 2560, BufferKind::temporary},
                   {"b", 2560, BufferKind::temporary}, {"c", 2560, BufferKind::temporary},
                   {"g", 256, BufferKind::temporary},  {"o", 256, BufferKind::output}};
  const auto add = [&](Ops inputs, Ops outputs, double seconds, bool recomputable) {
    graph.ops.push_back({"op" + std::to_string(graph.ops.size()), "op", std::move(inputs), std::move(outputs),
                         0, seconds, recomputable, false});
  };
  add({0}, {1}, 10, true);
  add({1}, {2}, 1, true);
  add({2}, {3}, 1, true);
  add({3}, {4}, 1, false);
  add({4, 2}, {4}, 1, false);
  add({4, 1}, {5}, 1, false);
  return graph;
}

std::vector<std::uint8_t> choose(const PlanGraph& graph, double seconds_per_byte,
                                 std::int32_t longest_chain = RecomputeChoice::any_length) {
  const OpTable table(graph);
  RecomputeChoice choice(table, given_order(graph));
  const std::vector<double> prices(graph.buffers.size(), seconds_per_byte);
  std::vector<std::uint8_t> again;
  choice.choose(prices, longest_chain, again);
  return again;
}

TEST(Recompute, TheTurnIsWhereMostIsAlive) {
  const PlanGraph graph = chain();
  const OpTable table(graph);
  EXPECT_EQ(find_turn(table, given_order(graph)), 3);
}

// A value costs 2,560 × price; ops 1 and 2 cost 1 s, op 0 10 s.
TEST(Recompute, ValuesAreKeptOrMadeAgainByTheirPrice) {
  EXPECT_EQ(choose(chain(), 0.5 / 2560), (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(choose(chain(), 2.0 / 2560), (std::vector<std::uint8_t>{0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(choose(chain(), 20.0 / 2560), (std::vector<std::uint8_t>{1, 1, 1, 0, 0, 0}));
}

// Its price would be no number, and minimum cuts would never end.
TEST(Recompute, AnOpWithoutOutputsIsNothingToMakeAgain) {
  PlanGraph graph = chain();
  for (PlanOp& op : graph.ops) op.recomputable = false;
  PlanOp silent;
  silent.name = "silent";
  silent.type = "op";
  silent.inputs = {0};
  silent.seconds = 1;
  silent.recomputable = true;
  graph.ops.insert(graph.ops.begin() + 1, silent);
  const OpTable table(graph);
  EXPECT_FALSE(RecomputeChoice(table, given_order(graph)).any_eligible());
  graph.ops.front().recomputable = true;
  const OpTable more(graph);
  const RecomputeChoice choice(more, given_order(graph));
  EXPECT_TRUE(choice.any_eligible());
  EXPECT_DOUBLE_EQ(choice.lowest_price(), 10.0 / 2560);
  EXPECT_DOUBLE_EQ(choice.highest_price(), 10.0 / 2560);
}

// No backward op reads b; c has twice the bytes. At 2.5 s for each 2,560 bytes, keeping c costs 5 s, keeping
// b to make c again 2.5 + 1, making both again 1 + 1; at 0.75 s: 1.5, 1.75 and 2.
TEST(Recompute, WhatIsMadeAgainNeedsItsInputs) {
  PlanGraph graph = chain();
  graph.ops[4].inputs = {4, 1};
  graph.buffers[3].bytes = 5120;
  EXPECT_EQ(choose(graph, 2.5 / 2560), (std::vector<std::uint8_t>{0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(choose(graph, 0.75 / 2560), (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0}));
}

// Values in between are kept.
TEST(Recompute, ChainsAreNoLongerThanAllowed) {
  EXPECT_EQ(choose(chain(), 20.0 / 2560, 3), (std::vector<std::uint8_t>{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(choose(chain(), 20.0 / 2560, 2), (std::vector<std::uint8_t>{1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(choose(chain(), 20.0 / 2560, 1), (std::vector<std::uint8_t>{1, 0, 1, 0, 0, 0}));
}

TEST(Recompute, PricesFollowALineFromTheFirstOpToTheTurn) {
  const PlanGraph graph = chain();
  const OpTable table(graph);
  const RecomputeChoice choice(table, given_order(graph));
  std::vector<double> prices;
  choice.price_line(std::vector<double>{0, 3}, prices);  // the turn is 3, the writers are ops 0, 1, 2
  ASSERT_EQ(prices.size(), graph.buffers.size());
  EXPECT_DOUBLE_EQ(prices[1], 1);
  EXPECT_DOUBLE_EQ(prices[2], std::exp(1));
  EXPECT_DOUBLE_EQ(prices[3], std::exp(2));
}

// Op 3 reads c, op 4 b, op 5 a.
TEST(Recompute, ValuesAreDroppedAndMadeOnceMoreWhenTheNextReaderIsFar) {
  const PlanGraph graph = chain();
  const OpTable table(graph);
  Ops runs;
  const std::vector<std::uint8_t> again{1, 1, 1, 0, 0, 0};
  const auto with_stays = [&](std::int32_t steps) {
    run_sequence(table, given_order(graph), 3, again, runs, std::vector<std::int32_t>(6, steps));
    return runs;
  };
  EXPECT_EQ(with_stays(0), (Ops{0, 1, 2, 0, 1, 2, 3, 0, 1, 4, 0, 5}));
  EXPECT_EQ(with_stays(1), (Ops{0, 1, 2, 0, 1, 2, 3, 4, 0, 5}));  // a: read at steps 3 and 5
  EXPECT_EQ(with_stays(2), (Ops{0, 1, 2, 0, 1, 2, 3, 4, 5}));
}

TEST(Recompute, EachRunsAgainRightBeforeItsFirstReader) {
  const PlanGraph graph = chain();
  const OpTable table(graph);
  Ops runs;
  const Ops order = given_order(graph);
  run_sequence(table, order, 3, std::vector<std::uint8_t>{0, 1, 1, 0, 0, 0}, runs);
  EXPECT_EQ(runs, (Ops{0, 1, 2, 1, 2, 3, 4, 5}));
  run_sequence(table, order, 3, std::vector<std::uint8_t>{0, 0, 1, 0, 0, 0}, runs);
  EXPECT_EQ(runs, (Ops{0, 1, 2, 2, 3, 4, 5}));
  run_sequence(table, order, 3, std::vector<std::uint8_t>{0, 1, 0, 0, 0, 0}, runs);
  EXPECT_EQ(runs, (Ops{0, 1, 2, 3, 1, 4, 5}));
  run_sequence(table, order, 3, std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1}, runs);
  EXPECT_EQ(runs, (Ops{0, 1, 2, 0, 1, 2, 3, 4, 5}));
}

// The parameter that op 0 reads is updated before its value is needed again: no second run.
TEST(Recompute, NothingRunsAgainOnOtherInputs) {
  PlanGraph graph = chain();
  graph.buffers[0].kind = BufferKind::parameter;
  graph.ops.insert(graph.ops.begin() + 3, {"update", "op", {0, 3}, {0}, 0, 1, false, false});
  const OpTable table(graph);
  Ops runs;
  run_sequence(table, given_order(graph), 3, std::vector<std::uint8_t>{1, 0, 0, 0, 0, 0, 0}, runs);
  EXPECT_EQ(runs, (Ops{0, 1, 2, 3, 4, 5, 6}));
}

// Whatever is chosen, each run of a random graph reads the values that the first run read.
TEST(Recompute, RandomSequencesReadTheSameValues) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const PlanGraph graph = random_plan_graph(seed);
    const OpTable table(graph);
    const Ops order = given_order(graph);
    RecomputeChoice choice(table, order);
    std::vector<std::uint8_t> again(graph.ops.size());
    for (std::size_t op = 0; op < again.size(); ++op)
      again[op] = choice.eligible(static_cast<std::int32_t>(op)) && (seed + op) % 3 != 0 ? 1 : 0;
    std::vector<std::int32_t> stays(graph.ops.size());
    for (std::size_t op = 0; op < stays.size(); ++op)
      stays[op] = op % 4 == 0 ? stays_for_good : static_cast<std::int32_t>((seed + op) % 4);
    Ops runs;
    run_sequence(table, order, choice.turn(), again, runs, stays);
    std::vector<std::int32_t> writer(graph.buffers.size(), -1);
    std::vector<Ops> read(graph.ops.size());
    std::vector<bool> has_run(graph.ops.size(), false);
    for (std::int32_t op : runs) {
      const PlanOp& plan_op = graph.ops[static_cast<std::size_t>(op)];
      Ops values;
      for (std::int32_t b : plan_op.inputs) values.push_back(writer[static_cast<std::size_t>(b)]);
      if (has_run[static_cast<std::size_t>(op)]) {
        EXPECT_TRUE(plan_op.recomputable);
        ASSERT_EQ(values, read[static_cast<std::size_t>(op)]) << "graph " << seed << ", op " << op;
      }
      read[static_cast<std::size_t>(op)] = values;
      has_run[static_cast<std::size_t>(op)] = true;
      for (std::int32_t b : plan_op.outputs) writer[static_cast<std::size_t>(b)] = op;
    }
    EXPECT_TRUE(std::all_of(has_run.begin(), has_run.end(), [](bool ran) { return ran; }));
  }
}

}  // namespace
}  // namespace swapadvisor
