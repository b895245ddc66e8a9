// Ops: what a node computes, without saying how. Kernels (core/kernel.h) say how, per device.
#pragma once

#include <swapadvisor/core/shape.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swapadvisor {

class Graph;

/// A handle to a tensor of a graph: a typed view of a buffer as one op wrote it. Cheap to copy; valid while the graph
/// lives. A default-constructed tensor is absent (optional operands, gradients nobody needs).
class Tensor {
 public:
  Tensor() = default;
  Tensor(Graph& graph, int id) : graph_(&graph), id_(id) {}

  explicit operator bool() const { return graph_ != nullptr; }
  Graph& graph() const { return *graph_; }
  int id() const { return id_; }
  const TensorSpec& spec() const;
  const Shape& shape() const { return spec().shape; }
  DType dtype() const { return spec().dtype; }
  /// Name of the buffer it lives in.
  const std::string& name() const;

 private:
  Graph* graph_ = nullptr;
  int id_ = -1;
};

/// Work of one run, for cost models: floating-point operations, and bytes read and written.
struct Cost {
  double flops = 0;
  double bytes = 0;
};

/// What the planner may do with an op.
struct Traits {
  bool recomputable = true;  ///< running it again on the same inputs writes the same bits
  /// Any output may share the address of any input of equal bytes (element i of it depends on element i of that).
  bool inplace = false;
  /// (output, input): the output is a new value of the input's buffer, which is read and rewritten in place.
  std::vector<std::pair<int, int>> updates;
};

/// What an op's gradient rule is given. Builders called with `name` as prefix keep profiles readable.
struct VjpContext {
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  std::span<const Tensor> output_gradients;  ///< absent where no gradient arrives
  const std::vector<bool>& wanted;           ///< per input: is its gradient needed?
  std::string name;                          ///< "grad/NODE"
};

/// An operation: type, attributes (immutable), shape inference, cost, gradient. No kernels, no memory.
/// Thread-safe: all members are const.
class Op {
 public:
  virtual ~Op() = default;

  /// Key into the kernel set, such as "conv2d".
  virtual std::string_view type() const = 0;
  /// Specs of the outputs. Throws `Error` saying which operand is wrong; the graph adds "[type name]" in front.
  virtual std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const = 0;
  /// Default: no flops, all operand bytes.
  virtual Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const;
  virtual Traits traits() const { return {}; }
  /// Gradients of the inputs (absent where not wanted or zero), as ordinary ops appended to the same graph.
  /// Default: throws `Error`, the op has no gradient.
  virtual std::vector<Tensor> vjp(const VjpContext& context) const;
};

/// Sum of the bytes of all operands.
double bytes_of(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs);

}  // namespace swapadvisor
