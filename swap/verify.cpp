#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/program_check.h>
#include <swapadvisor/swap/verify.h>
#include <swapadvisor/swap/verify_memory.h>

#include <array>
#include <vector>

namespace swapadvisor {
namespace {

using verifier::Cell;
using verifier::Clocks;
using verifier::DeviceMemory;
using verifier::Event;
using verifier::Tag;
using verifier::Values;

constexpr std::int64_t unrolled_iterations = 3;

// Follows contents and orders through the unrolled program; throws `Error` at the first violation.
class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), values_(program.graph), clocks_(program), slots_(program.graph.buffers.size()) {
    for (std::size_t i = 0; i < program.instructions.size(); ++i)
      of_stream_[static_cast<std::size_t>(program.instructions[i].stream())].push_back(i);
  }

  void run() {
    place_persistent();
    for (iteration_ = 0; iteration_ < unrolled_iterations; ++iteration_) {
      if (iteration_ > 0) clocks_.next_iteration();
      begin_iteration();
      for (index_ = 0; index_ < program_.instructions.size(); ++index_) {
        clocks_.enter(index_);
        execute(program_.instructions[index_]);
      }
      check_iteration_end();
    }
  }

 private:
  const PlanBuffer& buffer(std::int32_t b) const {
    return program_.graph.buffers[static_cast<std::size_t>(b)];
  }

  Cell& slot(std::int32_t b) {
    const BufferKind kind = buffer(b).kind;
    const bool by_parity = kind == BufferKind::input || kind == BufferKind::output;
    return slots_[static_cast<std::size_t>(b)][by_parity ? static_cast<std::size_t>(iteration_ % 2) : 0];
  }

  template <class Visit>
  void for_each_buffer(Visit visit) {
    for (std::size_t b = 0; b < program_.graph.buffers.size(); ++b) visit(static_cast<std::int32_t>(b));
  }

  void place_persistent() {
    for_each_buffer([&](std::int32_t b) {
      if (is_persistent(buffer(b).kind)) slot(b).content = values_.initial(b, 0);
    });
    for (const Resident& resident : program_.resident) {
      const Tag initial = values_.initial(resident.buffer, 0);
      device_.replace(resident.offset, resident.offset + buffer(resident.buffer).bytes, Cell{initial, {}});
      if (resident.dirty) slot(resident.buffer).content = verifier::no_value;
    }
  }

  // Iteration k − 2 has ended: the host has refilled its input slots and read its outputs.
  void begin_iteration() {
    for_each_buffer([&](std::int32_t b) {
      if (buffer(b).kind == BufferKind::input) slot(b) = Cell{values_.initial(b, iteration_), {}};
      if (buffer(b).kind == BufferKind::output) slot(b) = Cell{};
    });
  }

  void execute(const Instruction& instruction) {
    switch (instruction.kind) {
      case InstructionKind::run:
        return run_op(instruction);
      case InstructionKind::swap_in:
        return swap_in(instruction.target, instruction.offsets.front());
      case InstructionKind::swap_out:
        return swap_out(instruction.target, instruction.offsets.front());
    }
  }

  void run_op(const Instruction& run) {
    const PlanOp& op = program_.graph.ops[static_cast<std::size_t>(run.target)];
    std::size_t operand = 0;
    for (std::int32_t b : op.inputs) {
      read_device(b, run.offsets[operand], values_.operand(run.target, operand, iteration_));
      ++operand;
    }
    for (std::int32_t b : op.outputs) {
      write_device(run.offsets[operand], buffer(b).bytes, values_.operand(run.target, operand, iteration_));
      ++operand;
    }
    if (op.workspace_bytes > 0) write_device(run.offsets[operand], op.workspace_bytes, verifier::no_value);
  }

  void swap_in(std::int32_t b, std::int64_t offset) {
    Cell& cell = slot(b);
    if (cell.content == verifier::no_value)
      fail("{} reads the host slot of '{}', which holds no value of it", here(), buffer(b).name);
    check_slot_race(cell, b, false);
    cell.note_read(clocks_.event());
    write_device(offset, buffer(b).bytes, cell.content);
  }

  void swap_out(std::int32_t b, std::int64_t offset) {
    const Tag content = read_device(b, offset, std::nullopt);
    check_slot_race(slot(b), b, true);
    slot(b) = Cell{content, clocks_.event()};
  }

  // Returns what is there; `expected`: the one value it must be, else any of the buffer.
  Tag read_device(std::int32_t b, std::int64_t offset, std::optional<Tag> expected) {
    DeviceMemory::Range* range = device_.find(offset, offset + buffer(b).bytes);
    const Tag content = range ? range->cell.content : verifier::no_value;
    if (values_.buffer_of(content) != b)
      fail("{} reads '{}' at offset {}, which holds {}", here(), buffer(b).name, offset, name_of(content));
    if (expected && content != *expected)
      fail(
          "{} reads '{}' at offset {}, which holds another value of it than the one the graph's order "
          "defines",
          here(), buffer(b).name, offset);
    if (const auto other = range->cell.race(clocks_, false))
      fail("{} reads '{}' at offset {}, but no wait orders it after {}, which writes there", here(),
           buffer(b).name, offset, name_of(*other));
    range->cell.note_read(clocks_.event());
    return content;
  }

  void write_device(std::int64_t offset, std::int64_t bytes, Tag content) {
    device_.for_each(offset, offset + bytes, [&](std::int64_t begin, const DeviceMemory::Range& range) {
      if (const auto other = range.cell.race(clocks_, true))
        fail(
            "{} writes {} bytes at offset {}, but no wait orders it after {}, which uses the range from {} "
            "to {}",
            here(), bytes, offset, name_of(*other), begin, range.end);
    });
    device_.replace(offset, offset + bytes, Cell{content, clocks_.event()});
  }

  void check_slot_race(const Cell& cell, std::int32_t b, bool write) {
    if (const auto other = cell.race(clocks_, write))
      fail("{} {} the host slot of '{}', but no wait orders it after {}, which uses it", here(),
           write ? "writes" : "reads", buffer(b).name, name_of(*other));
  }

  void check_iteration_end() {
    std::vector<bool> resident(program_.graph.buffers.size(), false);
    std::vector<bool> in_host(program_.graph.buffers.size(), true);
    for (const Resident& r : program_.resident) {
      const DeviceMemory::Range* range = device_.find(r.offset, r.offset + buffer(r.buffer).bytes);
      if (!range || range->cell.content != values_.initial(r.buffer, iteration_ + 1))
        fail("resident buffer '{}' is not at offset {} with its new value when iteration {} ends",
             buffer(r.buffer).name, r.offset, iteration_);
      resident[static_cast<std::size_t>(r.buffer)] = true;
      in_host[static_cast<std::size_t>(r.buffer)] = !r.dirty;
    }
    for_each_buffer([&](std::int32_t b) {
      const auto index = static_cast<std::size_t>(b);
      const BufferKind kind = buffer(b).kind;
      if (kind == BufferKind::output && slot(b).content != values_.last(b, iteration_))
        fail("output '{}' is not swapped out after its last write in iteration {}", buffer(b).name,
             iteration_);
      if (is_persistent(kind) && in_host[index] && slot(b).content != values_.initial(b, iteration_ + 1))
        fail("the host slot of '{}', {}, does not hold its new value when iteration {} ends", buffer(b).name,
             resident[index] ? "resident and not dirty" : "which is not resident", iteration_);
    });
  }

  std::string here() const {
    return fmt::format("{} of iteration {}", describe(program_, index_), iteration_);
  }

  std::string name_of(Tag content) const {
    const std::int32_t b = values_.buffer_of(content);
    return b < 0 ? "no whole value" : fmt::format("'{}'", buffer(b).name);
  }

  std::string name_of(const Event& event) const {
    const auto& of_stream = of_stream_[static_cast<std::size_t>(event.stream)];
    const auto index = static_cast<std::size_t>(event.index);
    return fmt::format("{} of iteration {}", describe(program_, of_stream[index % of_stream.size()]),
                       index / of_stream.size());
  }

  const Program& program_;
  Values values_;
  Clocks clocks_;
  DeviceMemory device_;
  std::vector<std::array<Cell, 2>> slots_;  // per buffer; inputs and outputs by iteration parity
  std::array<std::vector<std::size_t>, stream_count> of_stream_;  // instructions, to name events
  std::int64_t iteration_ = 0;
  std::size_t index_ = 0;
};

}  // namespace

Verdict verify(const Program& program) {
  try {
    check_structure(program);
    Verifier(program).run();
  } catch (const Error& error) {
    return {false, error.what()};
  }
  return {true, ""};
}

}  // namespace swapadvisor
