// The reference executor of the tests: runs a graph op by op, every buffer in its own memory, nothing
// planned.
#pragma once

#include <swapadvisor/core/graph.h>
#include <swapadvisor/core/kernel.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace swapadvisor {

/// Contents of buffers, by buffer name, as stored (in the buffer's own layout).
using HostBuffers = std::map<std::string, std::vector<std::byte>>;

/// One output of one node takes the memory of one of its inputs.
struct Alias {
  int node = 0, output = 0, input = 0;
};

struct InterpretOptions {
  int threads = 1;
  std::uint64_t seed = 0;  ///< of random ops
  std::byte poison{0xFF};  ///< what outputs and workspace hold before each op
  std::int64_t shift_bytes =
      0;  ///< moves all addresses off their multiple of 256 (a multiple of 8 keeps types aligned)
  std::optional<Alias> alias{};
};

/// Kernels are prepared once; `step` may be called any number of times. Not thread-safe.
class Interpreter {
 public:
  Interpreter(const Graph& graph, const KernelSet& kernels, const InterpretOptions& options = {});

  /// Runs every node once, in builder order. `buffers` must hold all inputs, parameters and states;
  /// afterwards it holds the last value of every buffer, temporaries included. Throws `Error` when one is
  /// missing or of the wrong size, or when a kernel wrote outside its outputs and workspace.
  void step(HostBuffers& buffers) const;

 private:
  const Graph& graph_;
  InterpretOptions options_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

/// One step of a fresh `Interpreter`.
void interpret(const Graph& graph, const KernelSet& kernels, HostBuffers& buffers,
               const InterpretOptions& options = {});

/// Parameters and states as their initializers say.
HostBuffers initial_buffers(const Graph& graph, std::uint64_t seed);

/// Every (node, output, input) that the nodes' traits allow to share memory.
std::vector<Alias> allowed_aliases(const Graph& graph);

template <class T>
std::vector<std::byte> to_bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> from_bytes(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// The bytes of a dense tensor, which may be a view of part of its buffer.
std::vector<std::byte> tensor_bytes(const Tensor& tensor, const HostBuffers& buffers);

/// Elements in logical (row-major) order, as double, from bytes in `spec`'s order; and back.
std::vector<double> to_logical(const TensorSpec& spec, const std::vector<std::byte>& bytes);
std::vector<std::byte> from_logical(const TensorSpec& spec, const std::vector<double>& values);

}  // namespace swapadvisor
