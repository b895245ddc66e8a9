// What the planner sees of a graph: buffers, bytes, seconds, dependencies ("graph v1" of the file formats).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swapadvisor {

/// parameter, state: persistent, carried from iteration to iteration. input: written by the host before each
/// iteration. output: read by the host after each iteration. temporary: lives within one iteration.
enum class BufferKind : std::uint8_t { parameter, state, input, output, temporary };

/// True for parameters and states.
constexpr bool is_persistent(BufferKind kind) {
  return kind == BufferKind::parameter || kind == BufferKind::state;
}

/// Storage, as the planner sees it.
struct PlanBuffer {
  std::string name;
  std::int64_t bytes = 0;  ///< ≥ 1, padding included
  BufferKind kind = BufferKind::temporary;
};

/// An op. A buffer in both `inputs` and `outputs` is updated in place (read whole, written whole).
struct PlanOp {
  std::string name;
  std::string type;
  std::vector<std::int32_t> inputs;   ///< buffer indices, one per operand; repeats allowed
  std::vector<std::int32_t> outputs;  ///< buffer indices, all different
  std::int64_t workspace_bytes = 0;
  double seconds = 0;
  bool recomputable = false;  ///< may run again on the same input values with the same outcome
  bool inplace =
      false;  ///< one output may take the address of one input of equal bytes that is dead afterwards
  /// What the library behind the op's kernel chose on the device that was profiled, such as "cuDNN forward 1
  /// fma"; empty: nothing to choose, or not profiled.
  std::string algorithm{};
};

/// The op list is one valid order; read-after-write, write-after-read and write-after-write in it are
/// dependencies.
struct PlanGraph {
  std::string name;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanOp> ops;
};

/// Throws `Error` naming the entry when an index, size or time is out of range, a temporary is read before it
/// is written, an input is written, an output is never written, or sums overflow.
void check(const PlanGraph& graph);

/// True when both have the same buffers (name, bytes, kind) and ops (name, type, operands, workspace, flags,
/// and algorithms where both have them); seconds may differ. The graph's own name does not count.
bool same_structure(const PlanGraph& a, const PlanGraph& b);

/// The first thing in which `other` is not the same structure as `graph`, for people, such as "op 'conv1' has
/// 0 workspace bytes there, 4096 here" (there: `other`). Empty when they are the same.
std::string structure_difference(const PlanGraph& graph, const PlanGraph& other);

/// Seconds of all ops, each once: the ideal iteration time.
double total_seconds(const PlanGraph& graph);

}  // namespace swapadvisor
