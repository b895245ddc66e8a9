#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/swap/program_check.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace swapadvisor {
namespace {

struct Operand {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int32_t buffer = -1;  // -1: workspace
  bool input = false;
  bool output = false;
};

std::string name_of(const Program& program, const Operand& operand) {
  if (operand.buffer < 0) return "the workspace";
  return fmt::format("'{}'", program.graph.buffers[static_cast<std::size_t>(operand.buffer)].name);
}

bool in_range(std::int32_t index, std::size_t size) {
  return index >= 0 && static_cast<std::size_t>(index) < size;
}

void check_range(const Program& program, std::int64_t offset, std::int64_t bytes, const std::string& what) {
  if (offset < 0 || offset % arena_alignment != 0)
    fail("{} has offset {}, which is not a multiple of {}", what, offset, arena_alignment);
  if (bytes > program.arena_bytes || offset > program.arena_bytes - bytes)
    fail("{} with {} bytes at offset {} leaves the arena of {} bytes", what, bytes, offset,
         program.arena_bytes);
}

// The operands of a run, each buffer at each of its offsets once.
std::vector<Operand> operands_of(const Program& program, std::size_t index) {
  const Instruction& run = program.instructions[index];
  const PlanOp& op = program.graph.ops[static_cast<std::size_t>(run.target)];
  std::vector<Operand> operands;
  const auto add = [&](std::int32_t buffer, std::int64_t offset, std::int64_t bytes, bool output) {
    check_range(program, offset, bytes, describe(program, index));
    operands.push_back({offset, offset + bytes, buffer, !output && buffer >= 0, output});
  };
  auto offset = run.offsets.begin();
  for (std::int32_t b : op.inputs)
    add(b, *offset++, program.graph.buffers[static_cast<std::size_t>(b)].bytes, false);
  for (std::int32_t b : op.outputs)
    add(b, *offset++, program.graph.buffers[static_cast<std::size_t>(b)].bytes, true);
  if (op.workspace_bytes > 0) add(-1, *offset, op.workspace_bytes, false);
  std::sort(operands.begin(), operands.end(), [](const Operand& a, const Operand& b) {
    return std::tie(a.begin, a.end, a.buffer) < std::tie(b.begin, b.end, b.buffer);
  });
  std::size_t kept = 0;
  for (const Operand& operand : operands) {
    Operand* last = kept > 0 ? &operands[kept - 1] : nullptr;
    if (last && last->buffer == operand.buffer && last->begin == operand.begin) {
      last->input |= operand.input;
      last->output |= operand.output;
    } else {
      operands[kept++] = operand;
    }
  }
  operands.resize(kept);
  return operands;
}

void check_updates_in_place(const Program& program, std::size_t index) {
  const Instruction& run = program.instructions[index];
  const PlanOp& op = program.graph.ops[static_cast<std::size_t>(run.target)];
  std::unordered_map<std::int32_t, std::int64_t> written;  // buffer, offset
  for (std::size_t o = 0; o < op.outputs.size(); ++o)
    written.emplace(op.outputs[o], run.offsets[op.inputs.size() + o]);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const auto output = written.find(op.inputs[i]);
    if (output != written.end() && output->second != run.offsets[i])
      fail("{} updates '{}' in place, but reads it at offset {} and writes it at {}",
           describe(program, index), program.graph.buffers[static_cast<std::size_t>(op.inputs[i])].name,
           run.offsets[i], output->second);
  }
}

void check_operands(const Program& program, std::size_t index) {
  const std::vector<Operand> operands = operands_of(program, index);
  check_updates_in_place(program, index);
  bool pair_allowed = program.graph.ops[static_cast<std::size_t>(program.instructions[index].target)].inplace;
  const Operand* highest = nullptr;  // of those seen, the one that ends last
  for (const Operand& operand : operands) {
    if (highest && operand.begin < highest->end) {
      const bool same = operand.begin == highest->begin && operand.end == highest->end;
      const bool update = operand.input != operand.output && highest->input != highest->output &&
                          operand.input == highest->output;
      if (!same || !update || !pair_allowed)
        fail("{} has {} at offset {} overlap {} at offset {}", describe(program, index),
             name_of(program, operand), operand.begin, name_of(program, *highest), highest->begin);
      pair_allowed = false;
    }
    if (!highest || operand.end > highest->end) highest = &operand;
  }
}

void check_residents(const Program& program) {
  std::vector<Operand> ranges;
  std::vector<bool> seen(program.graph.buffers.size(), false);
  for (const Resident& resident : program.resident) {
    const auto b = static_cast<std::size_t>(resident.buffer);
    const PlanBuffer& buffer = program.graph.buffers[b];
    if (!is_persistent(buffer.kind)) fail("resident buffer '{}' is not a parameter or state", buffer.name);
    if (seen[b]) fail("buffer '{}' is resident twice", buffer.name);
    seen[b] = true;
    check_range(program, resident.offset, buffer.bytes, fmt::format("resident buffer '{}'", buffer.name));
    ranges.push_back({resident.offset, resident.offset + buffer.bytes, resident.buffer, false, false});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Operand& a, const Operand& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end)
      fail("resident buffers {} at offset {} and {} at offset {} overlap", name_of(program, ranges[i - 1]),
           ranges[i - 1].begin, name_of(program, ranges[i]), ranges[i].begin);
}

void check_memory(const Program& program) {
  if (program.arena_bytes < 0 || program.arena_bytes > program.device.memory_bytes)
    fail("the arena has {} bytes, but device '{}' has {}", program.arena_bytes, program.device.name,
         program.device.memory_bytes);
  const std::int64_t needed = host_bytes_needed(program.graph, program.instructions);
  if (program.host_bytes < needed)
    fail("host_bytes is {}, but the host slots of the plan take {}", program.host_bytes, needed);
  if (program.host_bytes > program.device.host_bytes)
    fail("the plan takes {} bytes of host memory, but device '{}' has {}", program.host_bytes,
         program.device.name, program.device.host_bytes);
}

// One run of every op; more only of those that may run again.
void check_runs(const Program& program) {
  std::vector<bool> has_run(program.graph.ops.size(), false);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (program.instructions[i].kind != InstructionKind::run) continue;
    const auto target = static_cast<std::size_t>(program.instructions[i].target);
    if (!has_run[target]) {
      has_run[target] = true;
      continue;
    }
    const PlanOp& op = program.graph.ops[target];
    if (!op.recomputable) fail("{} runs an op again that is not recomputable", describe(program, i));
    const std::unordered_set<std::int32_t> inputs(op.inputs.begin(), op.inputs.end());
    for (std::int32_t b : op.outputs) {
      const PlanBuffer& buffer = program.graph.buffers[static_cast<std::size_t>(b)];
      if (is_persistent(buffer.kind))
        fail("{} runs an op again that writes persistent buffer '{}'", describe(program, i), buffer.name);
      if (inputs.contains(b))
        fail("{} runs an op again that updates buffer '{}' in place", describe(program, i), buffer.name);
    }
  }
  for (std::size_t op = 0; op < has_run.size(); ++op)
    if (!has_run[op]) fail("op {} '{}' never runs", op, program.graph.ops[op].name);
}

}  // namespace

std::string describe(const Program& program, std::size_t index) {
  const Instruction& instruction = program.instructions[index];
  const auto target = static_cast<std::size_t>(instruction.target);
  switch (instruction.kind) {
    case InstructionKind::run: {
      return fmt::format("instruction {} (run of op {} '{}')", index, target, program.graph.ops[target].name);
    }
    case InstructionKind::swap_in:
      return fmt::format("instruction {} (swap_in of '{}')", index, program.graph.buffers[target].name);
    case InstructionKind::swap_out:
      return fmt::format("instruction {} (swap_out of '{}')", index, program.graph.buffers[target].name);
  }
  return fmt::format("instruction {}", index);
}

void check_indices(const Program& program) {
  const PlanGraph& graph = program.graph;
  for (std::size_t r = 0; r < program.resident.size(); ++r)
    if (!in_range(program.resident[r].buffer, graph.buffers.size()))
      fail("resident {} is buffer {}, but there are {} buffers", r, program.resident[r].buffer,
           graph.buffers.size());
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    const bool run = instruction.kind == InstructionKind::run;
    const std::size_t targets = run ? graph.ops.size() : graph.buffers.size();
    if (!in_range(instruction.target, targets))
      fail("instruction {} names {} {}, but there are {} {}s", i, run ? "op" : "buffer", instruction.target,
           targets, run ? "op" : "buffer");
    std::size_t offsets = 1;
    if (run) {
      const PlanOp& op = graph.ops[static_cast<std::size_t>(instruction.target)];
      offsets = op.inputs.size() + op.outputs.size() + (op.workspace_bytes > 0 ? 1 : 0);
    }
    if (instruction.offsets.size() != offsets)
      fail("{} has {} offsets: expected {}", describe(program, i), instruction.offsets.size(), offsets);
    for (std::int32_t awaited : instruction.wait)
      if (!in_range(awaited, i))
        fail("{} waits for instruction {}, which is not earlier", describe(program, i), awaited);
    for (std::int32_t awaited : instruction.wait_previous)
      if (!in_range(awaited, program.instructions.size()))
        fail("{} waits for instruction {} of the previous iteration, but there are {}", describe(program, i),
             awaited, program.instructions.size());
  }
}

void check_structure(const Program& program) {
  check(program.graph);
  check(program.device);
  check_indices(program);
  check_memory(program);
  check_residents(program);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.kind == InstructionKind::run) {
      check_operands(program, i);
    } else {
      const auto bytes = program.graph.buffers[static_cast<std::size_t>(instruction.target)].bytes;
      check_range(program, instruction.offsets.front(), bytes, describe(program, i));
    }
  }
  check_runs(program);
}

}  // namespace swapadvisor
