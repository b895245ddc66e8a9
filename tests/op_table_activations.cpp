// Cases of sigmoid, tanh and gelu.
#include <swapadvisor/ops/gelu.h>
#include <swapadvisor/ops/sigmoid.h>
#include <swapadvisor/ops/tanh.h>

#include "op_table.h"

namespace swapadvisor {

std::vector<OpCase> activation_cases() {
  using Function = std::function<Tensor(Tensor)>;
  const std::vector<std::pair<std::string, Function>> functions{
      {"sigmoid", [](Tensor x) { return sigmoid(x); }},
      {"tanh", [](Tensor x) { return tanh(x); }},
      {"gelu", [](Tensor x) { return gelu(x); }},
      {"gelu_tanh", [](Tensor x) { return gelu(x, GeluForm::tanh); }}};
  std::vector<OpCase> cases;
  for (const auto& [name, function] : functions) {
    const auto build = [function = function](const OperandTensors& in) {
      return std::vector<Tensor>{function(in[0])};
    };
    cases.push_back({.name = name,
                     .operands = {{.shape = {2, 3, 5, 7}, .layout = Operand::Layout::of_case}},
                     .build = build});
    cases.push_back({.name = name + "_one", .operands = {{.shape = {}}}, .build = build});
    cases.push_back({.name = name + "_large",
                     .operands = {{.shape = {50'021}, .values = uniform_values(-12, 12)}},
                     .build = build,
                     .gradient_tolerance = 0});
  }
  return cases;
}

}  // namespace swapadvisor
