// Which value every op of a graph reads and writes, by the graph's own order. Internal to the verifier.
#pragma once

#include <swapadvisor/core/plan_graph.h>

#include <cstdint>
#include <vector>

namespace swapadvisor::verifier {

/// A value of one iteration. 0: no value. Tags of different buffers, writers or iterations differ.
using Tag = std::int64_t;
inline constexpr Tag no_value = 0;

/// Numbers the values of a graph: (buffer, initial) first, then (buffer, writer) in the order of the ops.
class Values {
 public:
  explicit Values(const PlanGraph& graph) : buffer_count_(static_cast<std::int64_t>(graph.buffers.size())) {
    std::vector<std::int64_t> current;
    for (std::int64_t b = 0; b < buffer_count_; ++b) {
      buffer_of_.push_back(static_cast<std::int32_t>(b));
      persistent_.push_back(is_persistent(graph.buffers[static_cast<std::size_t>(b)].kind));
      current.push_back(b);
    }
    for (const PlanOp& op : graph.ops) {
      op_begin_.push_back(operand_.size());
      for (std::int32_t b : op.inputs) operand_.push_back(current[static_cast<std::size_t>(b)]);
      for (std::int32_t b : op.outputs) {
        current[static_cast<std::size_t>(b)] = static_cast<std::int64_t>(buffer_of_.size());
        operand_.push_back(current[static_cast<std::size_t>(b)]);
        buffer_of_.push_back(b);
      }
    }
    final_ = std::move(current);
  }

  /// `operand`: inputs first, then outputs.
  Tag operand(std::int32_t op, std::size_t operand, std::int64_t iteration) const {
    return tag(operand_[op_begin_[static_cast<std::size_t>(op)] + operand], iteration);
  }
  /// What the buffer holds when the iteration starts: for persistent buffers, the last value of the one
  /// before.
  Tag initial(std::int32_t buffer, std::int64_t iteration) const { return tag(buffer, iteration); }
  Tag last(std::int32_t buffer, std::int64_t iteration) const {
    return tag(final_[static_cast<std::size_t>(buffer)], iteration);
  }
  /// The buffer a tag is a value of; -1 for no value.
  std::int32_t buffer_of(Tag tag) const {
    return tag == no_value ? -1 : buffer_of_[static_cast<std::size_t>((tag - 1) % value_count())];
  }

 private:
  std::int64_t value_count() const { return static_cast<std::int64_t>(buffer_of_.size()); }

  Tag tag(std::int64_t value, std::int64_t iteration) const {
    if (value < buffer_count_ && persistent_[static_cast<std::size_t>(value)]) {
      const std::int64_t last = final_[static_cast<std::size_t>(value)];
      if (last == value) {
        iteration = 0;  // never written: the same value for ever
      } else if (iteration > 0) {
        value = last;
        --iteration;
      }
    }
    return 1 + iteration * value_count() + value;
  }

  std::int64_t buffer_count_;
  std::vector<std::int32_t> buffer_of_;  // of each value
  std::vector<bool> persistent_;         // of each buffer
  std::vector<std::int64_t> final_;      // value of each buffer after the last op
  std::vector<std::size_t> op_begin_;    // into operand_
  std::vector<std::int64_t> operand_;    // values
};

}  // namespace swapadvisor::verifier
