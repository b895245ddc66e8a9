#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/bounds.h>

#include <algorithm>

namespace swapadvisor {
namespace {

// The values that the rest of the iteration still reads, while a boundary moves from the last op to the
// first.
class StillRead {
 public:
  explicit StillRead(const PlanGraph& graph) : graph_(graph), read_(graph.buffers.size(), false) {}

  void cross(const PlanOp& op) {
    for (std::int32_t b : op.outputs) set(b, false);
    for (std::int32_t b : op.inputs) set(b, true);
  }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t persistent_bytes() const { return persistent_bytes_; }

 private:
  void set(std::int32_t b, bool read) {
    const auto index = static_cast<std::size_t>(b);
    const PlanBuffer& buffer = graph_.buffers[index];
    if (read_[index] == read || buffer.kind == BufferKind::input) return;
    read_[index] = read;
    const std::int64_t change = read ? buffer.bytes : -buffer.bytes;
    bytes_ += change;
    if (is_persistent(buffer.kind)) persistent_bytes_ += change;
  }

  const PlanGraph& graph_;
  std::vector<bool> read_;
  std::int64_t bytes_ = 0;
  std::int64_t persistent_bytes_ = 0;
};

}  // namespace

double swap_bound_seconds(const PlanGraph& graph, std::span<const std::int32_t> order,
                          const DeviceSpec& device, std::int64_t capacity) {
  double before = 0;
  for (std::int32_t i : order) before += graph.ops[static_cast<std::size_t>(i)].seconds;
  double bound = before;
  double after = 0;
  StillRead rest(graph);
  for (std::size_t t = order.size(); t-- > 0;) {
    const PlanOp& op = graph.ops[static_cast<std::size_t>(order[t])];
    before -= op.seconds;
    after += op.seconds;
    rest.cross(op);
    if (rest.bytes() <= capacity) continue;
    const std::int64_t excess = rest.bytes() - capacity;
    const std::int64_t stored = std::max<std::int64_t>(0, excess - rest.persistent_bytes());
    bound = std::max(bound, std::max(before, static_cast<double>(stored) / device.d2h_bytes_per_second) +
                                std::max(after, static_cast<double>(excess) / device.h2d_bytes_per_second));
  }
  return bound;
}

double swap_bound_seconds(const Program& program) {
  return swap_bound_seconds(program.graph, first_run_order(program), program.device,
                            program.device.memory_bytes);
}

std::vector<std::int32_t> first_run_order(const Program& program) {
  std::vector<std::int32_t> order;
  std::vector<bool> has_run(program.graph.ops.size(), false);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != InstructionKind::run) continue;
    const auto op = static_cast<std::size_t>(instruction.target);
    if (!has_run[op]) order.push_back(instruction.target);
    has_run[op] = true;
  }
  return order;
}

double bound_seconds(const PlanGraph& graph, const DeviceSpec& /*device*/) {
  return total_seconds(graph);
}

}  // namespace swapadvisor
