#include <swapadvisor/core/executor.h>
#include <swapadvisor/core/executor_run.h>

#include <algorithm>
#include <cstring>

namespace swapadvisor {

std::vector<BoundKernel> bind_kernels(const Graph& graph, const std::vector<std::unique_ptr<Kernel>>& kernels) {
  SWAPADVISOR_ASSERT(kernels.size() == graph.nodes().size(), "{} kernels for {} nodes", kernels.size(),
                     graph.nodes().size());
  std::vector<BoundKernel> bound;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    BoundKernel b{kernels[i].get(), {}};
    for (int tensor : graph.nodes()[i].inputs)
      b.input_offsets.push_back(graph.tensors()[static_cast<std::size_t>(tensor)].byte_offset);
    bound.push_back(std::move(b));
  }
  return bound;
}

Executor::Executor(const Program& program, std::vector<BoundKernel> kernels, Device& device, HostStore& host,
                   ExecutorOptions options)
    : program_(program), kernels_(std::move(kernels)), device_(device), host_(host), options_(std::move(options)) {
  SWAPADVISOR_ASSERT(kernels_.size() == program_.graph.ops.size(), "{} kernels for {} ops", kernels_.size(),
                     program_.graph.ops.size());
  SWAPADVISOR_ASSERT(options_.poison.empty() || options_.poison.size() == program_.instructions.size(),
                     "{} poison lists for {} instructions", options_.poison.size(), program_.instructions.size());
  reserve_slots();
  for (int parity = 0; parity < 2; ++parity)
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      done_[parity].push_back(device_.make_event());
      if (options_.trace_iterations > 0) started_[parity].push_back(device_.make_event());
    }
  for (std::size_t i = 0; i < program_.instructions.size(); ++i)
    last_on_stream_[static_cast<int>(program_.instructions[i].stream())] = static_cast<std::int32_t>(i);
}

Executor::~Executor() {
  // Queued work refers to our memory; an error it raises has no one left to hear it.
  try {
    device_.synchronize();
  } catch (...) {
  }
}

void Executor::reserve_slots() {
  const PlanGraph& graph = program_.graph;
  std::vector<bool> swapped(graph.buffers.size(), false);
  for (const Instruction& i : program_.instructions)
    if (i.kind != InstructionKind::run) swapped[static_cast<std::size_t>(i.target)] = true;
  slots_.resize(graph.buffers.size());
  for (std::size_t b = 0; b < graph.buffers.size(); ++b) {
    const PlanBuffer& buffer = graph.buffers[b];
    const std::string own = options_.slot_prefix + buffer.name;
    if (is_persistent(buffer.kind)) {
      slots_[b] = {host_.reserve(buffer.name, buffer.bytes).data()};
    } else if (buffer.kind != BufferKind::temporary) {
      slots_[b] = {host_.reserve(own + "#0", buffer.bytes).data(), host_.reserve(own + "#1", buffer.bytes).data()};
    } else if (swapped[b]) {
      slots_[b] = {host_.reserve(own, buffer.bytes).data()};
    }
  }
}

std::byte* Executor::slot(std::int32_t buffer, int parity) const {
  const auto& slots = slots_[static_cast<std::size_t>(buffer)];
  return slots[slots.size() == 2 ? static_cast<std::size_t>(parity) : 0];
}

void Executor::load() {
  base_ = device_.arena(program_.arena_bytes);
  bind_addresses();
  Stream& in = device_.stream(StreamKind::in);
  for (const Resident& r : program_.resident)
    in.copy(base_ + r.offset, slot(r.buffer, 0), program_.graph.buffers[static_cast<std::size_t>(r.buffer)].bytes);
  in.synchronize();
  first_ = submitted_;
  loaded_ = true;
}

void Executor::bind_addresses() {
  runs_.clear();
  runs_.resize(program_.instructions.size());
  for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
    const Instruction& instruction = program_.instructions[i];
    if (instruction.kind != InstructionKind::run) continue;
    const PlanOp& op = program_.graph.ops[static_cast<std::size_t>(instruction.target)];
    const BoundKernel& kernel = kernels_[static_cast<std::size_t>(instruction.target)];
    Run& run = runs_[i];
    std::size_t at = 0;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const std::int64_t view = kernel.input_offsets.empty() ? 0 : kernel.input_offsets[k];
      run.inputs.push_back(base_ + instruction.offsets[at++] + view);
    }
    for (std::size_t k = 0; k < op.outputs.size(); ++k) run.outputs.push_back(base_ + instruction.offsets[at++]);
    run.args = {run.inputs, run.outputs, op.workspace_bytes > 0 ? base_ + instruction.offsets[at] : nullptr};
  }
}

void Executor::fill_inputs(std::span<const InputData> inputs, int parity) {
  std::vector<bool> given(program_.graph.buffers.size(), false);
  for (const InputData& data : inputs) {
    const PlanBuffer& buffer = program_.graph.buffers[static_cast<std::size_t>(data.buffer)];
    if (buffer.kind != BufferKind::input) fail("'{}' is not an input of the graph", buffer.name);
    if (static_cast<std::int64_t>(data.bytes.size()) != buffer.bytes)
      fail("input '{}' needs {} bytes, got {}", buffer.name, buffer.bytes, data.bytes.size());
    std::memcpy(slot(data.buffer, parity), data.bytes.data(), data.bytes.size());
    given[static_cast<std::size_t>(data.buffer)] = true;
  }
  for (std::size_t b = 0; b < given.size(); ++b)
    if (program_.graph.buffers[b].kind == BufferKind::input && !given[b])
      fail("input '{}' was not given", program_.graph.buffers[b].name);
}

void Executor::enqueue(std::int32_t index, int parity) {
  const auto i = static_cast<std::size_t>(index);
  const Instruction& instruction = program_.instructions[i];
  Stream& stream = device_.stream(instruction.stream());
  for (std::int32_t w : instruction.wait) stream.wait(*done_[parity][static_cast<std::size_t>(w)]);
  if (submitted_ > first_)
    for (std::int32_t w : instruction.wait_previous) stream.wait(*done_[1 - parity][static_cast<std::size_t>(w)]);
  if (submitted_ < options_.trace_iterations) stream.record(*started_[parity][i]);
  queue_work(index, parity);
  stream.record(*done_[parity][i]);
}

// The work itself, with whoever waits for it still to be told.
void Executor::queue_work(std::int32_t index, int parity) {
  const auto i = static_cast<std::size_t>(index);
  const Instruction& instruction = program_.instructions[i];
  Stream& stream = device_.stream(instruction.stream());
  if (instruction.kind == InstructionKind::run) {
    stream.launch(*kernels_[static_cast<std::size_t>(instruction.target)].kernel, runs_[i].args);
  } else {
    const std::int64_t bytes = program_.graph.buffers[static_cast<std::size_t>(instruction.target)].bytes;
    std::byte* device = base_ + instruction.offsets[0];
    std::byte* host = slot(instruction.target, parity);
    if (instruction.kind == InstructionKind::swap_in) stream.copy(device, host, bytes);
    else stream.copy(host, device, bytes);
  }
  if (!options_.poison.empty())
    for (auto [offset, bytes] : options_.poison[i]) stream.fill(base_ + offset, 0xFF, bytes);
}

void Executor::enqueue_all(int parity) {
  if (is_captured_[1 - parity])  // only compute knows when that one ends
    for (const StreamKind kind : {StreamKind::in, StreamKind::out})
      device_.stream(kind).wait(*finished_[1 - parity]);
  is_captured_[parity] = false;
  for (std::size_t i = 0; i < program_.instructions.size(); ++i)
    enqueue(static_cast<std::int32_t>(i), parity);
}

void Executor::submit(std::span<const InputData> inputs) {
  SWAPADVISOR_ASSERT(in_flight() < 2, "a third iteration was submitted before the first was taken");
  const int parity = static_cast<int>(submitted_ % 2);
  fill_inputs(inputs, parity);
  if (!loaded_) load();
  if (prepare_captured(parity))
    launch_captured(parity);
  else
    enqueue_all(parity);
  ++submitted_;
}

void Executor::finish(std::int64_t iteration) {
  if (is_captured_[iteration % 2]) return finished_[iteration % 2]->synchronize();
  for (std::int32_t last : last_on_stream_)
    if (last >= 0) done_[iteration % 2][static_cast<std::size_t>(last)]->synchronize();
}

IterationResult Executor::take() {
  SWAPADVISOR_ASSERT(in_flight() > 0, "there is no iteration to take");
  const std::int64_t iteration = taken_;
  const int parity = static_cast<int>(iteration % 2);
  finish(iteration);
  ++taken_;
  if (in_flight() == 0) device_.synchronize();  // hear errors, which idle streams only report when asked
  IterationResult result{iteration, 0, {}};
  if (is_captured_[parity])
    result.compute_end_seconds = finished_[parity]->seconds();
  else if (const std::int32_t last = last_on_stream_[0]; last >= 0)
    result.compute_end_seconds = done_[parity][static_cast<std::size_t>(last)]->seconds();
  result.outputs.resize(program_.graph.buffers.size());
  for (std::size_t b = 0; b < result.outputs.size(); ++b) {
    const PlanBuffer& buffer = program_.graph.buffers[b];
    if (buffer.kind != BufferKind::output) continue;
    const std::byte* data = slot(static_cast<std::int32_t>(b), parity);
    result.outputs[b].assign(data, data + buffer.bytes);
  }
  for (std::size_t i = 0; iteration < options_.trace_iterations && i < program_.instructions.size(); ++i)
    spans_.push_back({iteration, static_cast<std::int32_t>(i), started_[parity][i]->seconds(),
                      done_[parity][i]->seconds()});
  return result;
}

void Executor::drain() {
  device_.synchronize();
  if (!loaded_) return;
  Stream& out = device_.stream(StreamKind::out);
  for (const Resident& r : program_.resident) {
    if (!r.dirty) continue;
    out.copy(slot(r.buffer, 0), base_ + r.offset, program_.graph.buffers[static_cast<std::size_t>(r.buffer)].bytes);
  }
  out.synchronize();
  loaded_ = false;
}

IterationResult Executor::inspect(std::span<const InputData> inputs, const OpVisitor& visit) {
  SWAPADVISOR_ASSERT(in_flight() == 0, "{} iterations are in flight", in_flight());
  const int parity = static_cast<int>(submitted_ % 2);
  fill_inputs(inputs, parity);
  if (!loaded_) load();
  is_captured_[parity] = false;
  for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
    enqueue(static_cast<std::int32_t>(i), parity);
    device_.synchronize();
    if (program_.instructions[i].kind == InstructionKind::run) visit(program_.instructions[i].target, runs_[i].args);
  }
  ++submitted_;
  return take();
}

}  // namespace swapadvisor
