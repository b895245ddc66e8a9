#include <swapadvisor/swap/instruction_list.h>

#include <algorithm>

namespace swapadvisor {

void flatten(const Program& program, InstructionList& list) {
  list.clear();
  std::int32_t index = 0;
  for (const Instruction& instruction : program.instructions) {
    list.entries.push_back(
        {instruction.kind, instruction.target, static_cast<std::int32_t>(list.offsets.size())});
    list.offsets.insert(list.offsets.end(), instruction.offsets.begin(), instruction.offsets.end());
    for (std::int32_t awaited : instruction.wait) list.extra_waits.push_back({index, awaited, false});
    for (std::int32_t awaited : instruction.wait_previous) list.extra_waits.push_back({index, awaited, true});
    ++index;
  }
}

void expand(const InstructionList& list, const FlatProgram& waits, Program& program) {
  program.instructions.resize(list.entries.size());
  std::size_t wait = 0, wait_previous = 0;
  const auto take = [](const std::vector<std::int32_t>& all, std::size_t& from, std::int32_t end,
                       std::vector<std::int32_t>& to) {
    const auto stop = static_cast<std::size_t>(end);
    to.assign(all.begin() + static_cast<std::ptrdiff_t>(from),
              all.begin() + static_cast<std::ptrdiff_t>(stop));
    std::sort(to.begin(), to.end());
    from = stop;
  };
  for (std::size_t i = 0; i < list.entries.size(); ++i) {
    Instruction& instruction = program.instructions[i];
    instruction.kind = list.entries[i].kind;
    instruction.target = list.entries[i].target;
    const auto offsets = list.offsets_of(i);
    instruction.offsets.assign(offsets.begin(), offsets.end());
    take(waits.waits, wait, waits.waits_end[i], instruction.wait);
    take(waits.waits_previous, wait_previous, waits.waits_previous_end[i], instruction.wait_previous);
  }
}

}  // namespace swapadvisor
