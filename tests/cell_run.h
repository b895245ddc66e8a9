// A graph of one recurrent cell, run on drawn operands.
#pragma once

#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include "interpret.h"
#include "op_table.h"

namespace swapadvisor {

using Values = std::vector<double>;

/// Small, large and saturating numbers that f32 holds.
inline Values numbers(std::int64_t n, std::uint32_t id) {
  const RandomStream random{11, id, 0};
  Values values;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto draw = static_cast<std::uint64_t>(i);
    const double scale = i % 3 == 0 ? 0.01 : i % 3 == 1 ? 1 : 12;
    values.push_back(static_cast<float>(scale * random.normal(draw)));
  }
  return values;
}

/// Operands have `rows` rows.
struct CellRun {
  static constexpr std::int64_t rows = 5, hidden = 37;

  explicit CellRun(DType type) : dtype(type) {}

  Tensor operand(const std::string& name, std::int64_t columns, const Values& values) {
    const Tensor tensor = graph.input(name, TensorSpec::dense(dtype, {rows, columns}));
    buffers[name] = from_logical(tensor.spec(), values);
    return tensor;
  }
  /// Drawn by the name, whatever else is in the graph.
  Tensor drawn(const std::string& name, std::int64_t columns) {
    return operand(name, columns, numbers(rows * columns, static_cast<std::uint32_t>(hash_name(name))));
  }
  Values read(const Tensor& tensor) const { return to_logical(tensor.spec(), buffers.at(tensor.name())); }
  void run() { interpret(graph, with_test_ops(cpu_kernels()), buffers, {.threads = 2}); }

  DType dtype;
  Graph graph;
  HostBuffers buffers;
};

}  // namespace swapadvisor
