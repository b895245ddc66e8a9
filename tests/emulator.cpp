#include "emulator.h"

#include <algorithm>

namespace swapadvisor::test {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15ull + b + 0x632BE59BD9B4E019ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// A value as a tag, and that tag as the content of its block number `i`.
std::uint64_t block_of(std::uint64_t value, std::size_t i) {
  return mix(value, i);
}

}  // namespace

Emulator::Emulator(const Program& program, std::uint32_t seed)
    : program_(program),
      random_(seed),
      rank_(program.instructions.size()),
      arena_(static_cast<std::size_t>(program.arena_bytes / arena_alignment) + 1, 0),
      host_(program.graph.buffers.size()) {
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    Stream& stream = streams_[static_cast<std::size_t>(program.instructions[i].stream())];
    rank_[i] = stream.list.size();
    stream.list.push_back(i);
  }
  for (std::size_t b = 0; b < host_.size(); ++b) {
    const auto id = static_cast<std::int32_t>(b);
    for (Blocks& slot : host_[b]) slot.assign(blocks(id), 0);
    current_.push_back(mix(b, 1));
    if (is_persistent(program.graph.buffers[b].kind))
      for (std::size_t i = 0; i < blocks(id); ++i) host_[b][0][i] = block_of(current_[b], i);
  }
  for (const Resident& r : program.resident) {
    const auto b = static_cast<std::size_t>(r.buffer);
    for (std::size_t i = 0; i < blocks(r.buffer); ++i) {
      arena_[static_cast<std::size_t>(r.offset / arena_alignment) + i] = host_[b][0][i];
      if (r.dirty) host_[b][0][i] = 0;
    }
  }
}

std::size_t Emulator::blocks(std::int32_t b) const {
  const std::int64_t bytes = program_.graph.buffers[static_cast<std::size_t>(b)].bytes;
  return static_cast<std::size_t>(round_up(bytes, arena_alignment) / arena_alignment);
}

Emulator::Blocks& Emulator::slot(std::int32_t b, int k) {
  const BufferKind kind = program_.graph.buffers[static_cast<std::size_t>(b)].kind;
  const bool by_parity = kind == BufferKind::input || kind == BufferKind::output;
  return host_[static_cast<std::size_t>(b)][by_parity ? static_cast<std::size_t>(k % 2) : 0];
}

// The graph in its own order, one value after the other.
void Emulator::reference_iteration(int k) {
  const auto& buffers = program_.graph.buffers;
  for (std::size_t b = 0; b < buffers.size(); ++b)
    if (buffers[b].kind == BufferKind::input) current_[b] = mix(mix(b, 2), static_cast<std::uint64_t>(k));
  expected_in_.emplace_back();
  expected_out_.emplace_back();
  for (std::size_t i = 0; i < program_.graph.ops.size(); ++i) {
    const PlanOp& op = program_.graph.ops[i];
    std::vector<Tag> in, out;
    Tag value = mix(i, 3);
    for (std::int32_t b : op.inputs) {
      in.push_back(current_[static_cast<std::size_t>(b)]);
      value = mix(value, in.back());
    }
    for (std::int32_t b : op.outputs) {
      out.push_back(mix(value, out.size()));
      current_[static_cast<std::size_t>(b)] = out.back();
    }
    expected_in_.back().push_back(in);
    expected_out_.back().push_back(out);
  }
  expected_end_.push_back(current_);
}

void Emulator::iteration_starts(int k) {
  reference_iteration(k);
  for (std::size_t b = 0; b < host_.size(); ++b) {
    if (program_.graph.buffers[b].kind != BufferKind::input) continue;
    Blocks& blocks = slot(static_cast<std::int32_t>(b), k);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      blocks[i] = block_of(mix(mix(b, 2), static_cast<std::uint64_t>(k)), i);
  }
}

bool Emulator::ready(const Stream& stream) const {
  const std::size_t k = stream.done / stream.list.size();
  const std::size_t i = stream.list[stream.done % stream.list.size()];
  const auto is_done = [&](std::int32_t awaited, std::size_t iteration) {
    const auto index = static_cast<std::size_t>(awaited);
    const Stream& other = streams_[static_cast<std::size_t>(program_.instructions[index].stream())];
    return other.done > iteration * other.list.size() + rank_[index];
  };
  const Instruction& instruction = program_.instructions[i];
  return std::all_of(instruction.wait.begin(), instruction.wait.end(),
                     [&](auto w) { return is_done(w, k); }) &&
         (k == 0 || std::all_of(instruction.wait_previous.begin(), instruction.wait_previous.end(),
                                [&](auto w) { return is_done(w, k - 1); }));
}

// Checks all inputs and keeps what is to be written, one block a step.
bool Emulator::start_run(Stream& stream, const Instruction& run, int k) {
  const PlanOp& op = program_.graph.ops[static_cast<std::size_t>(run.target)];
  const auto iteration = static_cast<std::size_t>(k);
  const auto& in = expected_in_[iteration][static_cast<std::size_t>(run.target)];
  const auto& out = expected_out_[iteration][static_cast<std::size_t>(run.target)];
  for (std::size_t j = 0; j < op.inputs.size(); ++j)
    for (std::size_t i = 0; i < blocks(op.inputs[j]); ++i)
      if (arena_[static_cast<std::size_t>(run.offsets[j] / arena_alignment) + i] != block_of(in[j], i))
        return false;
  stream.moving.clear();
  for (std::size_t j = 0; j < op.outputs.size(); ++j)
    for (std::size_t i = 0; i < blocks(op.outputs[j]); ++i) stream.moving.push_back(block_of(out[j], i));
  return true;
}

// One micro step of the instruction at the head of stream `s`. False when an op found a wrong value.
bool Emulator::step(std::size_t s) {
  Stream& stream = streams_[s];
  const int k = static_cast<int>(stream.done / stream.list.size());
  const Instruction& instruction = program_.instructions[stream.list[stream.done % stream.list.size()]];
  std::size_t steps = 0;
  if (instruction.kind == InstructionKind::run) {
    const PlanOp& op = program_.graph.ops[static_cast<std::size_t>(instruction.target)];
    std::vector<std::size_t> targets;  // blocks written, outputs first, then workspace
    for (std::size_t j = 0; j < op.outputs.size(); ++j)
      for (std::size_t i = 0; i < blocks(op.outputs[j]); ++i)
        targets.push_back(
            static_cast<std::size_t>(instruction.offsets[op.inputs.size() + j] / arena_alignment) + i);
    for (std::int64_t at = 0; at < op.workspace_bytes; at += arena_alignment)
      targets.push_back(static_cast<std::size_t>((instruction.offsets.back() + at) / arena_alignment));
    // Inputs are read at the start and once more before the first write, so that they must stay in between.
    if (stream.micro <= 1 && !start_run(stream, instruction, k)) return false;
    if (stream.micro > 0 && stream.micro <= targets.size()) {
      const std::size_t i = stream.micro - 1;
      arena_[targets[i]] = i < stream.moving.size() ? stream.moving[i] : random_();
    }
    steps = targets.size() + 2;  // start, blocks, end
  } else {
    const std::size_t count = blocks(instruction.target);
    if (stream.micro < count) {
      Tag& device =
          arena_[static_cast<std::size_t>(instruction.offsets.front() / arena_alignment) + stream.micro];
      Tag& host = slot(instruction.target, k)[stream.micro];
      (instruction.kind == InstructionKind::swap_in ? device : host) =
          instruction.kind == InstructionKind::swap_in ? host : device;
    }
    steps = count + 1;
  }
  if (++stream.micro == steps) {
    stream.micro = 0;
    ++stream.done;
  }
  return true;
}

// What must hold when every stream has ended iteration k, and none has touched what the next one changes.
bool Emulator::iteration_ended(int k) {
  const auto& end = expected_end_[static_cast<std::size_t>(k)];
  for (std::size_t b = 0; b < host_.size(); ++b) {
    if (program_.graph.buffers[b].kind != BufferKind::output) continue;
    const Blocks& blocks = slot(static_cast<std::int32_t>(b), k);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i] != block_of(end[b], i)) return false;
  }
  return true;
}

bool Emulator::run(int iterations) {
  iteration_starts(0);
  iteration_starts(1);
  int ended = 0, started = 2;
  while (ended < iterations) {
    std::vector<std::size_t> able;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      const Stream& stream = streams_[s];
      if (stream.list.empty()) continue;
      const auto limit = static_cast<std::size_t>(std::min(started, iterations)) * stream.list.size();
      if (stream.done < limit && (stream.micro > 0 || ready(stream))) able.push_back(s);
    }
    if (able.empty()) return false;
    // Long runs of one stream as well as fine interleavings.
    const std::size_t s = able[random_() % able.size()];
    for (std::size_t burst = random_() % 3 == 0 ? 12 : 1; burst > 0; --burst) {
      if (!step(s)) return false;
      if (streams_[s].micro == 0) break;
    }
    const auto past = [&](const Stream& stream) {
      return stream.list.empty() || stream.done >= static_cast<std::size_t>(ended + 1) * stream.list.size();
    };
    if (std::all_of(streams_.begin(), streams_.end(), past)) {
      if (!iteration_ended(ended)) return false;
      ++ended;
      iteration_starts(started++);
    }
  }
  // At rest: persistent values are where the program says.
  const auto& end = expected_end_[static_cast<std::size_t>(iterations - 1)];
  std::vector<bool> in_host(host_.size(), true);
  for (const Resident& r : program_.resident) {
    in_host[static_cast<std::size_t>(r.buffer)] = !r.dirty;
    for (std::size_t i = 0; i < blocks(r.buffer); ++i)
      if (arena_[static_cast<std::size_t>(r.offset / arena_alignment) + i] !=
          block_of(end[static_cast<std::size_t>(r.buffer)], i))
        return false;
  }
  for (std::size_t b = 0; b < host_.size(); ++b)
    for (std::size_t i = 0;
         is_persistent(program_.graph.buffers[b].kind) && in_host[b] && i < host_[b][0].size(); ++i)
      if (host_[b][0][i] != block_of(end[b], i)) return false;
  return true;
}

}  // namespace swapadvisor::test
