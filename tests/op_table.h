// The table of op test cases: one small graph per case, from which ops_test.cpp derives gradient checks,
// comparisons of kernels, and determinism and aliasing tests. Every op type with a CPU kernel must occur in
// it.
#pragma once

#include <swapadvisor/core/rng.h>

#include <cstdint>
#include <functional>

#include "interpret.h"

namespace swapadvisor {

/// Element i of an operand.
using Generator = std::function<double(const RandomStream&, std::uint64_t i)>;

Generator normal_values(double mean = 0, double deviation = 1);
Generator uniform_values(double low, double high);
/// Uniform in ±[0.1, 1]: away from the kink at 0.
Generator nonzero_values();
/// All different by at least 1e-5, in [-10, 10]: for maxima.
Generator distinct_values();
Generator integer_values(std::uint32_t below);
Generator constant_values(double value);

/// An operand of a case. Floating-point operands take the dtype that the case is run in.
struct Operand {
  enum class Layout : std::uint8_t { row_major, of_case };

  Shape shape;
  Generator values = normal_values();
  DType dtype = DType::f32;
  BufferKind kind = BufferKind::input;
  Layout layout = Layout::row_major;
  bool differentiable = true;  ///< integers never are
};

/// What a builder is given: the operands' tensors, and the variant being run.
struct OperandTensors {
  std::vector<Tensor> tensors;
  DType dtype = DType::f32;
  Layout layout = Layout::row_major;
  Tensor operator[](std::size_t i) const { return tensors[i]; }
  Graph& graph() const { return tensors[0].graph(); }
};

struct OpCase {
  std::string name;
  std::vector<Operand> operands;
  /// Returns the results whose gradient is tested (none for updates).
  std::function<std::vector<Tensor>(const OperandTensors&)> build;
  /// Largest error of the analytic f64 gradient, relative to the largest element. 0: no finite differences.
  double gradient_tolerance = 2e-7;
  /// Largest f32 error of any buffer, relative to its largest element.
  double f32_tolerance = 2e-6;
  double step = 0x1p-19;  ///< of the finite differences
  /// The kernels that give the same bits for every thread count, not only for equal ones. Libraries split
  /// sums of products by threads.
  enum class ThreadInvariant : std::uint8_t { none, portable, all };
  ThreadInvariant thread_invariant = ThreadInvariant::all;
};

std::vector<OpCase> elementwise_cases();
std::vector<OpCase> activation_cases();
std::vector<OpCase> transformer_cases();
std::vector<OpCase> batch_norm_cases();
std::vector<OpCase> loss_cases();
std::vector<OpCase> update_cases();
std::vector<OpCase> step_cases();
std::vector<OpCase> convolution_cases();
std::vector<OpCase> pooling_cases();
std::vector<OpCase> matrix_cases();
std::vector<OpCase> view_cases();
std::vector<OpCase> batched_cases();
std::vector<OpCase> broadcast_cases();
std::vector<OpCase> reduce_cases();
std::vector<OpCase> recurrent_cases();
std::vector<OpCase> vision_cases();

/// All of the above.
std::vector<OpCase> op_table();

/// A case in one layout and dtype: its graph, with a scalar loss (random projections of the results) and
/// gradients.
struct OpVariant {
  OpVariant(const OpCase& op_case, DType dtype, Layout layout, bool with_gradients);

  /// Contents of inputs and states. Values are generated in logical order and rounded to f32, so they are the
  /// same for both dtypes and both layouts.
  HostBuffers buffers() const;

  Graph graph;
  std::vector<Tensor> operands, results;
  Tensor loss;                    ///< absent when there are no results
  std::vector<Tensor> wanted;     ///< differentiable operands
  std::vector<Tensor> gradients;  ///< of `wanted`, when asked for

 private:
  const OpCase& case_;
};

/// `cpu_kernels()` or `portable_kernels()` with the test ops.
KernelSet with_test_ops(KernelSet kernels);

}  // namespace swapadvisor
