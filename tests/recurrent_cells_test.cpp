// Recurrent cells against their definitions, and what they refuse.
#include <gtest/gtest.h>
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/gru_cell.h>
#include <swapadvisor/ops/lstm_cell.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cell_run.h"
#include "expect_error.h"
#include "project.h"

namespace swapadvisor {
namespace {

constexpr std::int64_t rows = CellRun::rows, hidden = CellRun::hidden;

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

double tolerance_of(DType dtype) { return dtype == DType::f32 ? 4e-7 : 1e-14; }

TEST(LstmCell, MatchesItsDefinition) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    CellRun cell(dtype);
    const Tensor gates = cell.drawn("gates", 4 * hidden), c = cell.drawn("c", hidden);
    const LstmState state = lstm_cell(gates, c);
    cell.run();
    const Values g = cell.read(gates), before = cell.read(c), h = cell.read(state.h), after = cell.read(state.c);
    for (std::size_t n = 0; n < rows; ++n)
      for (std::size_t j = 0; j < hidden; ++j) {
        const auto gate = [&](std::size_t k) { return g[(4 * n + k) * hidden + j]; };
        const std::size_t at = n * hidden + j;
        const double expected = sigma(gate(1)) * before[at] + sigma(gate(0)) * std::tanh(gate(2));
        ASSERT_NEAR(after[at], expected, tolerance_of(dtype) * std::max(1.0, std::abs(expected)));
        ASSERT_NEAR(h[at], sigma(gate(3)) * std::tanh(expected), tolerance_of(dtype));
      }
  }
}

TEST(GruCell, MatchesItsDefinition) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    CellRun cell(dtype);
    const Tensor x = cell.drawn("x", 3 * hidden), hg = cell.drawn("hg", 3 * hidden), h = cell.drawn("h", hidden);
    const Tensor after = gru_cell(x, hg, h);
    cell.run();
    const Values of_x = cell.read(x), of_h = cell.read(hg), before = cell.read(h), found = cell.read(after);
    for (std::size_t n = 0; n < rows; ++n)
      for (std::size_t j = 0; j < hidden; ++j) {
        const auto gate = [&](const Values& v, std::size_t k) { return v[(3 * n + k) * hidden + j]; };
        const double r = sigma(gate(of_x, 0) + gate(of_h, 0)), z = sigma(gate(of_x, 1) + gate(of_h, 1));
        const double candidate = std::tanh(gate(of_x, 2) + r * gate(of_h, 2));
        const double expected = (1 - z) * candidate + z * before[n * hidden + j];
        // Sums of gates of up to 40 are rounded before they are squashed.
        ASSERT_NEAR(found[n * hidden + j], expected, 10 * tolerance_of(dtype) * std::max(1.0, std::abs(expected)));
      }
  }
}

/// The first step, which has no state, is a step from zeros: in its results and in the gradients of the gates.
TEST(RecurrentCells, AnAbsentStateIsZero) {
  for (const bool lstm : {true, false}) {
    std::vector<Values> results;
    for (const bool with_state : {true, false}) {
      CellRun cell(DType::f32);
      const std::int64_t gates = lstm ? 4 : 3;
      const Tensor x = cell.drawn("x", gates * hidden), y = cell.drawn("y", gates * hidden);
      const Tensor zeros = cell.operand("zeros", hidden, Values(rows * hidden, 0));
      const Tensor state = with_state ? zeros : Tensor();
      const Tensor h = lstm ? lstm_cell(x, state).h : gru_cell(x, y, state);
      const Tensor loss = project(h, cell.drawn("weights", hidden));
      const std::vector<Tensor> slopes = gradients(loss, std::vector<Tensor>{x, y});
      cell.run();
      results.push_back(cell.read(h));
      results.push_back(cell.read(slopes[0]));
      if (!lstm) results.push_back(cell.read(slopes[1]));
    }
    const std::size_t half = results.size() / 2;
    for (std::size_t i = 0; i < half; ++i) EXPECT_EQ(results[i], results[half + i]) << lstm << " " << i;
  }
}

TEST(RecurrentCells, NanSpreadsAndInfinitySaturates) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::f32, DType::f64}) {
    CellRun cell(dtype);
    Values gates(4 * rows * hidden, inf), c(rows * hidden, 0.25);
    for (std::size_t j = 0; j < hidden; ++j) gates[j] = -inf;  // input gates of row 0: closed
    gates[4 * hidden + 3] = nan;                               // an input gate of row 1
    const LstmState state = lstm_cell(cell.operand("gates", 4 * hidden, gates), cell.operand("c", hidden, c));
    cell.run();
    const Values h = cell.read(state.h), after = cell.read(state.c);
    EXPECT_EQ(after[2], 0.25);
    EXPECT_EQ(after[2 * hidden], 1.25);
    EXPECT_NEAR(h[2 * hidden], std::tanh(1.25), tolerance_of(dtype));
    EXPECT_TRUE(std::isnan(h[hidden + 3]));
    EXPECT_TRUE(std::isnan(after[hidden + 3]));
    EXPECT_FALSE(std::isnan(h[hidden + 4]));
  }
}

class CellErrors : public testing::Test {
 protected:
  Tensor input(const Shape& shape, DType dtype = DType::f32) {
    return graph.input(fmt::format("in{}", graph.buffers().size()), TensorSpec::dense(dtype, shape));
  }
  Graph graph;
};

TEST_F(CellErrors, OfLstm) {
  expect_error([&] { lstm_cell(input({2, 10}), {}, "l"); }, "[lstm_cell l] gates must be [N, 4H] in row-major order, got f32[2, 10]");
  expect_error([&] { lstm_cell(input({8}), {}, "l"); }, "gates must be [N, 4H]");
  expect_error([&] { lstm_cell(input({2, 8}, DType::i32), {}, "l"); }, "gates must be f32 or f64, got i32[2, 8]");
  expect_error([&] { lstm_cell(input({2, 8}), input({2, 8}), "l"); }, "c must be f32[2, 2] in row-major order, got f32[2, 8]");
  expect_error([&] { lstm_cell(input({2, 8}), input({2, 2}, DType::f64), "l"); }, "c must be f32[2, 2]");
}

TEST_F(CellErrors, OfGru) {
  expect_error([&] { gru_cell(input({2, 10}), input({2, 10}), {}, "g"); }, "[gru_cell g] x_gates must be [N, 3H] in row-major order, got f32[2, 10]");
  expect_error([&] { gru_cell(input({2, 9}), input({2, 6}), {}, "g"); }, "x_gates is f32[2, 9] but h_gates is f32[2, 6]");
  expect_error([&] { gru_cell(input({2, 9}), input({2, 9}), input({2, 9}), "g"); }, "h must be f32[2, 3] in row-major order, got f32[2, 9]");
}

}  // namespace
}  // namespace swapadvisor
