// Happens-before of an unrolled Program, by vector clocks. Internal to the verifier.
#pragma once

#include <swapadvisor/core/program.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace swapadvisor::verifier {

/// One execution of an instruction: the `index`-th, from 0, of its stream over all iterations.
struct Event {
  StreamKind stream = StreamKind::compute;
  std::int64_t index = -1;  // -1: before everything
};

/// Per stream, how many instructions are known to be done.
using Clock = std::array<std::int64_t, stream_count>;

/// Walks the instructions in list order, iteration after iteration, and tells what is done when each starts.
class Clocks {
 public:
  explicit Clocks(const Program& program)
      : program_(program), current_(program.instructions.size()), previous_(program.instructions.size()) {}

  void next_iteration() {
    std::swap(current_, previous_);
    ++iteration_;
  }

  /// Goes to the next instruction; the index must be the next one in list order.
  void enter(std::size_t index) {
    const Instruction& instruction = program_.instructions[index];
    const auto s = static_cast<std::size_t>(instruction.stream());
    Clock& last = last_of_stream_[s];
    start_ = last;
    for (std::int32_t i : instruction.wait) join(current_[static_cast<std::size_t>(i)]);
    if (iteration_ > 0)
      for (std::int32_t i : instruction.wait_previous) join(previous_[static_cast<std::size_t>(i)]);
    event_ = {instruction.stream(), start_[s]};
    last = start_;
    ++last[s];
    current_[index] = last;
  }

  /// The current execution.
  Event event() const { return event_; }
  /// Whether `earlier`, an execution entered before or the current one itself, conflicts with nothing of the
  /// current one: it is done when the current one starts, or is the same.
  bool ordered(const Event& earlier) const {
    return earlier.stream == event_.stream ||
           start_[static_cast<std::size_t>(earlier.stream)] > earlier.index;
  }

 private:
  void join(const Clock& clock) {
    for (std::size_t s = 0; s < clock.size(); ++s) start_[s] = std::max(start_[s], clock[s]);
  }

  const Program& program_;
  std::vector<Clock> current_, previous_;  // what is done at the end of each instruction
  std::array<Clock, stream_count> last_of_stream_{};
  Clock start_{};
  Event event_;
  std::int64_t iteration_ = 0;
};

}  // namespace swapadvisor::verifier
