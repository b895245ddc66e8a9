// The instructions of a Program as flat arrays: what a search refills thousands of times.
#pragma once

#include <swapadvisor/core/program.h>
#include <swapadvisor/swap/simulate.h>

#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

/// Instructions in list order without waits, but for those a planner wants beyond what correctness asks for.
struct InstructionList {
  struct Entry {
    InstructionKind kind = InstructionKind::run;
    std::int32_t target = 0;
    std::int32_t first_offset = 0;  ///< into `offsets`; how many follows from the kind and the op
  };
  /// `instruction` waits for `awaited`, of this or of the previous iteration.
  struct ExtraWait {
    std::int32_t instruction = 0;
    std::int32_t awaited = 0;
    bool previous = false;
  };

  std::vector<Entry> entries;
  std::vector<std::int64_t> offsets;
  std::vector<ExtraWait> extra_waits;  ///< by instruction

  void clear() {
    entries.clear();
    offsets.clear();
    extra_waits.clear();
  }
  std::span<const std::int64_t> offsets_of(std::size_t entry) const {
    const auto begin = static_cast<std::size_t>(entries[entry].first_offset);
    const std::size_t end = entry + 1 < entries.size()
                                ? static_cast<std::size_t>(entries[entry + 1].first_offset)
                                : offsets.size();
    return {offsets.data() + begin, end - begin};
  }
};

/// Copies a Program's instructions; its waits become extra waits.
void flatten(const Program& program, InstructionList& list);

/// Fills `program.instructions` from a list and the waits found for it.
void expand(const InstructionList& list, const FlatProgram& waits, Program& program);

}  // namespace swapadvisor
