// Recurrent cells against the same cells built from single ops.
#include <gtest/gtest.h>
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/gru_cell.h>
#include <swapadvisor/ops/lstm_cell.h>
#include <swapadvisor/ops/mul.h>
#include <swapadvisor/ops/sigmoid.h>
#include <swapadvisor/ops/split.h>
#include <swapadvisor/ops/sub.h>
#include <swapadvisor/ops/tanh.h>

#include <algorithm>
#include <cmath>

#include "cell_run.h"
#include "project.h"

namespace swapadvisor {
namespace {

constexpr std::int64_t hidden = CellRun::hidden;

std::vector<Tensor> gates_of(Tensor gates, std::int64_t count) {
  std::vector<Tensor> parts = split(gates, count, 1);
  for (Tensor& part : parts) part = contiguous(part);
  return parts;
}

LstmState lstm_from_primitives(Tensor gates, Tensor c) {
  const std::vector<Tensor> g = gates_of(gates, 4);
  const Tensor after = add(mul(sigmoid(g[1]), c), mul(sigmoid(g[0]), tanh(g[2])));
  return {mul(sigmoid(g[3]), tanh(after)), after};
}

Tensor gru_from_primitives(Tensor x_gates, Tensor h_gates, Tensor h) {
  const std::vector<Tensor> x = gates_of(x_gates, 3), g = gates_of(h_gates, 3);
  const Tensor r = sigmoid(add(x[0], g[0])), z = sigmoid(add(x[1], g[1]));
  const Tensor candidate = tanh(add(x[2], mul(r, g[2])));
  return add(candidate, mul(z, sub(h, candidate)));
}

/// The results of a step, and the gradients of all operands of a loss that every result counts in.
std::vector<Values> lstm_values(DType dtype, LstmState (*build)(Tensor, Tensor)) {
  CellRun cell(dtype);
  const Tensor gates = cell.drawn("gates", 4 * hidden), c = cell.drawn("c", hidden);
  const LstmState state = build(gates, c);
  const Tensor loss = add(project(state.h, cell.drawn("h_weights", hidden)),
                          project(state.c, cell.drawn("c_weights", hidden)));
  const std::vector<Tensor> slopes = gradients(loss, std::vector<Tensor>{gates, c});
  cell.run();
  return {cell.read(state.h), cell.read(state.c), cell.read(slopes[0]), cell.read(slopes[1])};
}

std::vector<Values> gru_values(DType dtype, Tensor (*build)(Tensor, Tensor, Tensor)) {
  CellRun cell(dtype);
  const Tensor x = cell.drawn("x", 3 * hidden), y = cell.drawn("y", 3 * hidden), h = cell.drawn("h", hidden);
  const Tensor after = build(x, y, h);
  const std::vector<Tensor> slopes =
      gradients(project(after, cell.drawn("weights", hidden)), std::vector<Tensor>{x, y, h});
  cell.run();
  return {cell.read(after), cell.read(slopes[0]), cell.read(slopes[1]), cell.read(slopes[2])};
}

void expect_close(const std::vector<Values>& a, const std::vector<Values>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    for (std::size_t e = 0; e < a[i].size(); ++e)
      ASSERT_NEAR(a[i][e], b[i][e], tolerance * std::max(1.0, std::abs(b[i][e]))) << i << ", " << e;
  }
}

TEST(RecurrentCells, AreWhatTheirPrimitivesAre) {
  const auto fused_lstm = [](Tensor gates, Tensor c) { return lstm_cell(gates, c); };
  const auto fused_gru = [](Tensor x, Tensor y, Tensor h) { return gru_cell(x, y, h); };
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 4e-6 : 1e-13;
    expect_close(lstm_values(dtype, fused_lstm), lstm_values(dtype, lstm_from_primitives), tolerance);
    expect_close(gru_values(dtype, fused_gru), gru_values(dtype, gru_from_primitives), tolerance);
  }
}

}  // namespace
}  // namespace swapadvisor
