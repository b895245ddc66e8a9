// Cases of recurrent cells.
#include <swapadvisor/ops/gru_cell.h>
#include <swapadvisor/ops/lstm_cell.h>
#include <swapadvisor/ops/matmul.h>

#include "op_table.h"

namespace swapadvisor {
namespace {

using Results = std::vector<Tensor>;

double tolerance_for(std::int64_t elements) {
  return elements > 3000 ? 0 : 2e-7;
}

/// Which results of the cell something depends on.
enum class LstmUse : std::uint8_t { both, h_only, c_only };

OpCase lstm_case(std::string name, std::int64_t n, std::int64_t hidden, bool with_c = true,
                 LstmUse use = LstmUse::both) {
  std::vector<Operand> operands{{.shape = {n, 4 * hidden}, .values = normal_values(0, 1.5)}};
  if (with_c) operands.push_back({.shape = {n, hidden}});
  return {.name = std::move(name),
          .operands = std::move(operands),
          .build =
              [=](const OperandTensors& in) {
                const LstmState state = lstm_cell(in[0], with_c ? in[1] : Tensor());
                if (use == LstmUse::both) return Results{state.h, state.c};
                return Results{use == LstmUse::h_only ? state.h : state.c};
              },
          .gradient_tolerance = tolerance_for(5 * n * hidden)};
}

OpCase gru_case(std::string name, std::int64_t n, std::int64_t hidden, bool with_h = true) {
  std::vector<Operand> operands(2, {.shape = {n, 3 * hidden}, .values = normal_values(0, 1.5)});
  if (with_h) operands.push_back({.shape = {n, hidden}});
  return {.name = std::move(name),
          .operands = std::move(operands),
          .build =
              [=](const OperandTensors& in) {
                return Results{gru_cell(in[0], in[1], with_h ? in[2] : Tensor())};
              },
          .gradient_tolerance = tolerance_for(7 * n * hidden)};
}

/// Three time steps that share a weight [4H, H]; the input is another contribution to the first step's gates.
Results unrolled_lstm(const OperandTensors& in) {
  LstmState state = lstm_cell(in[0], Tensor());
  for (int t = 0; t < 2; ++t) state = lstm_cell(matmul(state.h, in[1], false, true), state.c);
  return {state.h};
}

}  // namespace

std::vector<OpCase> recurrent_cases() {
  return {
      lstm_case("lstm_cell", 3, 7),
      lstm_case("lstm_cell_one", 1, 1),
      lstm_case("lstm_cell_first_step", 5, 3, false),
      lstm_case("lstm_cell_h_only", 2, 19, true, LstmUse::h_only),
      lstm_case("lstm_cell_c_only", 2, 19, true, LstmUse::c_only),
      lstm_case("lstm_cell_first_step_h_only", 4, 5, false, LstmUse::h_only),
      lstm_case("lstm_cell_large", 13, 531),
      lstm_case("lstm_cell_one_row", 1, 4'099),
      gru_case("gru_cell", 3, 7),
      gru_case("gru_cell_one", 1, 1),
      gru_case("gru_cell_first_step", 5, 3, false),
      gru_case("gru_cell_large", 13, 531),
      gru_case("gru_cell_one_row", 1, 4'099),
      {.name = "lstm_cell_unrolled",
       .operands = {{.shape = {3, 20}}, {.shape = {20, 5}, .values = normal_values(0, 0.5)}},
       .build = unrolled_lstm,
       .thread_invariant = OpCase::ThreadInvariant::none},
  };
}

}  // namespace swapadvisor
