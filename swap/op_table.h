// A PlanGraph as flat tables: what the inner loops of the planners walk through.
#pragma once

#include <swapadvisor/core/plan_graph.h>

#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

/// Made once per graph, which must outlive it; read-only afterwards, so threads may share it.
class OpTable {
 public:
  /// A distinct buffer that an op reads, writes or both. `slot` is its first place in (inputs, outputs), the
  /// index into the offsets of a `run`.
  struct Operand {
    std::int32_t buffer = 0;
    std::int32_t slot = 0;
    bool read = false;
    bool write = false;
  };

  explicit OpTable(const PlanGraph& graph);

  const PlanGraph& graph() const { return *graph_; }
  std::size_t op_count() const { return graph_->ops.size(); }
  std::size_t buffer_count() const { return graph_->buffers.size(); }

  /// Those only read come first.
  std::span<const Operand> operands(std::int32_t op) const { return slice(operands_, operand_begin_, op); }
  /// Buffer of every input and output, repeats included, in the order of `Instruction::offsets`.
  std::span<const std::int32_t> slots(std::int32_t op) const { return slice(slots_, slot_begin_, op); }

  /// Rounded up to `arena_alignment`.
  std::int64_t bytes(std::int32_t buffer) const { return bytes_[static_cast<std::size_t>(buffer)]; }
  std::int64_t workspace(std::int32_t op) const { return workspace_[static_cast<std::size_t>(op)]; }
  BufferKind kind(std::int32_t buffer) const { return kinds_[static_cast<std::size_t>(buffer)]; }
  bool persistent(std::int32_t buffer) const { return is_persistent(kind(buffer)); }
  /// Two host slots by iteration parity.
  bool two_slots(std::int32_t buffer) const {
    return kind(buffer) == BufferKind::input || kind(buffer) == BufferKind::output;
  }
  /// Some op writes it.
  bool written(std::int32_t buffer) const { return written_[static_cast<std::size_t>(buffer)] != 0; }

 private:
  template <class T>
  static std::span<const T> slice(const std::vector<T>& all, const std::vector<std::int32_t>& begin,
                                  std::int32_t op) {
    const auto o = static_cast<std::size_t>(op);
    return {all.data() + begin[o], static_cast<std::size_t>(begin[o + 1] - begin[o])};
  }

  void add_operands(const PlanOp& op);

  const PlanGraph* graph_;
  std::vector<std::int32_t> operand_begin_, slot_begin_, slots_;
  std::vector<Operand> operands_;
  std::vector<std::int64_t> bytes_, workspace_;
  std::vector<BufferKind> kinds_;
  std::vector<std::uint8_t> written_;
};

}  // namespace swapadvisor
