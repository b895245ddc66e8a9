// Who is where in device memory, from when to when, and what for.
#include <swapadvisor/train/report_analysis.h>
#include <swapadvisor/train/report_clock.h>

#include <map>
#include <numeric>

namespace swapadvisor::report {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

Occupant occupant_of(BufferKind kind) {
  switch (kind) {
    case BufferKind::parameter:
      return Occupant::parameter;
    case BufferKind::state:
      return Occupant::state;
    case BufferKind::input:
      return Occupant::input;
    case BufferKind::output:
      return Occupant::output;
    case BufferKind::temporary:
      return Occupant::temporary;
  }
  return Occupant::temporary;
}

// Follows all simulated iterations in list order, in which conflicting accesses are ordered.
class StayWalk {
 public:
  StayWalk(const Program& program, const Clock& clock, std::vector<Purpose>& purposes)
      : program_(program), clock_(clock), purposes_(purposes), open_(program.graph.buffers.size()) {}

  std::vector<Stay> walk() {
    const double start = clock_.start_of_time();
    for (const Resident& r : program_.resident)
      put_buffer(r.buffer, r.offset, start, start, std::nullopt, false);
    const std::size_t residents = stays_.size();
    std::vector<std::int32_t> copies(program_.instructions.size(), -1);
    for (std::int32_t k = Clock::first_iteration; k <= Clock::last_iteration; ++k)
      for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
        const std::int32_t stay = step(k, static_cast<std::int32_t>(i));
        if (k == 0) copies[i] = stay;
      }
    // No instruction names these: they just stay.
    for (std::size_t s = 0; s < residents; ++s)
      if (stays_[s].end == start && !stays_[s].taken_by) stays_[s].end = clock_.end_of_time();
    for (std::size_t i = 0; i < copies.size(); ++i)
      if (copies[i] >= 0) purposes_[i].taken_by = stays_[at(copies[i])].taken_by;
    std::erase_if(stays_, [](const Stay& s) { return s.end <= s.begin; });
    return std::move(stays_);
  }

 private:
  // Returns the stay of the buffer that a copy moves; -1 for runs.
  std::int32_t step(std::int32_t iteration, std::int32_t i) {
    const Instruction& instruction = program_.instructions[at(i)];
    const Reference here{i, iteration};
    const double begin = clock_.begin(iteration, i), end = clock_.end(iteration, i);
    if (instruction.kind == InstructionKind::swap_in)
      return put_buffer(instruction.target, instruction.offsets.front(), begin, end, here, false);
    if (instruction.kind == InstructionKind::swap_out)
      return use(instruction.target, instruction.offsets.front(), end);
    run(instruction, here, begin, end);
    return -1;
  }

  void run(const Instruction& instruction, Reference here, double begin, double end) {
    const PlanOp& op = program_.graph.ops[at(instruction.target)];
    const std::size_t inputs = op.inputs.size();
    const auto updated = [&](std::int32_t b) {
      return std::find(op.inputs.begin(), op.inputs.end(), b) != op.inputs.end();
    };
    // An output in an input's place: the time of the op counts once, for the output.
    const auto overwritten = [&](std::int32_t b, std::int64_t offset) {
      if (!op.inplace) return false;
      for (std::size_t o = 0; o < op.outputs.size(); ++o)
        if (op.outputs[o] != b && !updated(op.outputs[o]) && instruction.offsets[inputs + o] == offset)
          return true;
      return false;
    };
    for (std::size_t k = 0; k < inputs; ++k) {
      const std::int64_t offset = instruction.offsets[k];
      use(op.inputs[k], offset, overwritten(op.inputs[k], offset) ? begin : end);
    }
    const bool again = purposes_[at(here.instruction)].again;
    for (std::size_t o = 0; o < op.outputs.size(); ++o)
      if (!updated(op.outputs[o]))
        put_buffer(op.outputs[o], instruction.offsets[inputs + o], begin, end, here, again);
    if (op.workspace_bytes > 0)
      put({instruction.target, Occupant::workspace, instruction.offsets.back(), op.workspace_bytes, begin,
           end, here, std::nullopt});
  }

  std::int32_t put_buffer(std::int32_t b, std::int64_t offset, double begin, double end,
                          std::optional<Reference> placed_by, bool again) {
    const PlanBuffer& buffer = program_.graph.buffers[at(b)];
    const Occupant occupant = again ? Occupant::recomputed : occupant_of(buffer.kind);
    const std::int32_t stay = put({b, occupant, offset, buffer.bytes, begin, end, placed_by, std::nullopt});
    open_[at(b)].push_back(stay);
    return stay;
  }

  std::int32_t put(const Stay& stay) {
    auto it = places_.upper_bound(stay.offset);
    if (it != places_.begin() && end_of(std::prev(it)->second) > stay.offset) --it;
    while (it != places_.end() && it->first < stay.offset + stay.bytes) {
      Stay& old = stays_[at(it->second)];
      old.taken_by = stay.placed_by;
      if (old.occupant != Occupant::workspace) std::erase(open_[at(old.target)], it->second);
      it = places_.erase(it);
    }
    const auto index = static_cast<std::int32_t>(stays_.size());
    stays_.push_back(stay);
    places_.emplace(stay.offset, index);
    return index;
  }

  // The stay of a buffer at an offset, in use until `end`.
  std::int32_t use(std::int32_t b, std::int64_t offset, double end) {
    for (std::int32_t stay : open_[at(b)]) {
      if (stays_[at(stay)].offset != offset) continue;
      stays_[at(stay)].end = std::max(stays_[at(stay)].end, end);
      return stay;
    }
    return put_buffer(b, offset, clock_.start_of_time(), end, std::nullopt,
                      false);  // only in plans that are not valid
  }

  std::int64_t end_of(std::int32_t stay) const { return stays_[at(stay)].offset + stays_[at(stay)].bytes; }

  const Program& program_;
  const Clock& clock_;
  std::vector<Purpose>& purposes_;
  std::vector<Stay> stays_;
  std::vector<std::vector<std::int32_t>> open_;  // by buffer: stays that can still be used
  std::map<std::int64_t, std::int32_t> places_;  // by offset: stays that nothing has overwritten
};

}  // namespace

std::vector<Stay> find_stays(const Program& program, const Clock& clock, std::vector<Purpose>& purposes) {
  return StayWalk(program, clock, purposes).walk();
}

std::int64_t MemoryStep::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

std::vector<MemoryStep> memory_steps(const std::vector<Stay>& stays) {
  struct Change {
    double seconds;
    Occupant occupant;
    std::int64_t bytes;
  };
  std::vector<Change> changes;
  changes.reserve(2 * stays.size());
  for (const Stay& stay : stays) {
    changes.push_back({stay.begin, stay.occupant, stay.bytes});
    changes.push_back({stay.end, stay.occupant, -stay.bytes});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.seconds < b.seconds; });
  std::vector<MemoryStep> steps;
  for (const Change& change : changes) {
    if (steps.empty()) steps.push_back({change.seconds, {}});
    if (steps.back().seconds < change.seconds) steps.push_back({change.seconds, steps.back().bytes});
    steps.back().bytes[static_cast<std::size_t>(change.occupant)] += change.bytes;
  }
  return steps;
}

void find_readers(const Program& program, std::vector<Purpose>& purposes) {
  std::vector<bool> has_run(program.graph.ops.size(), false);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (program.instructions[i].kind != InstructionKind::run) continue;
    const std::size_t op = at(program.instructions[i].target);
    purposes[i].again = has_run[op];
    has_run[op] = true;
  }
  // Backwards through the next iteration and then the shown one.
  std::vector<std::optional<Reference>> reader(program.graph.buffers.size());
  for (std::int32_t k = 1; k >= 0; --k)
    for (std::size_t i = program.instructions.size(); i-- > 0;) {
      const Instruction& instruction = program.instructions[i];
      if (instruction.kind != InstructionKind::run) {
        if (k == 0) purposes[i].next_reader = reader[at(instruction.target)];
        continue;
      }
      const PlanOp& op = program.graph.ops[at(instruction.target)];
      for (std::int32_t b : op.outputs) {
        std::optional<Reference>& next = purposes[i].next_reader;
        const auto& known = reader[at(b)];
        const auto sooner = [](const Reference& x, const Reference& y) {
          return std::pair(x.iteration, x.instruction) < std::pair(y.iteration, y.instruction);
        };
        if (k == 0 && known && (!next || sooner(*known, *next))) next = known;
      }
      // What is made again was there before: its earlier copies may be read after this run, too.
      if (!purposes[i].again)
        for (std::int32_t b : op.outputs) reader[at(b)].reset();
      for (std::int32_t b : op.inputs) reader[at(b)] = Reference{static_cast<std::int32_t>(i), k};
    }
}

}  // namespace swapadvisor::report
