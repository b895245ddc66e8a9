#include <mix_kernels.h>
#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/swap/verify_clocks.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace swapadvisor::test {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Random graphs move many megabytes: four chains of eight bytes each, which a processor runs side by side.
std::uint64_t hash_bytes(const void* data, std::int64_t bytes, std::uint64_t start) {
  constexpr std::int64_t lanes = 4, block = 8 * lanes;
  const auto* in = static_cast<const unsigned char*>(data);
  std::uint64_t hash[lanes] = {start, start + 1, start + 2, start + 3};
  const auto absorb = [&](const unsigned char* from) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + 8 * lane, 8);
      hash[lane] = std::rotl(hash[lane] ^ word, 29) * 0x9e3779b97f4a7c15;
    }
  };
  std::int64_t i = 0;
  for (; i + block <= bytes; i += block) absorb(in + i);
  unsigned char rest[block] = {};
  std::memcpy(rest, in + i, static_cast<std::size_t>(bytes - i));
  absorb(rest);
  std::uint64_t all = mix(start ^ static_cast<std::uint64_t>(bytes));
  for (const std::uint64_t lane : hash) all = mix(all ^ lane) + 0x9e3779b97f4a7c15;
  return all;
}

void fill(void* data, std::int64_t bytes, std::uint64_t seed) {
  auto* out = static_cast<unsigned char*>(data);
  for (std::int64_t i = 0; i < bytes; i += 8) {
    std::uint64_t word = (seed + static_cast<std::uint64_t>(i)) * 0xbf58476d1ce4e5b9;
    word ^= word >> 32;
    std::memcpy(out + i, &word, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - i)));
  }
}

Bytes filled(std::int64_t bytes, std::uint64_t seed) {
  Bytes data(static_cast<std::size_t>(bytes));
  fill(data.data(), bytes, seed);
  return data;
}

class MixKernel final : public Kernel {
 public:
  MixKernel(const PlanGraph& graph, std::size_t op) : graph_(graph), op_(op) {}
  std::int64_t workspace_bytes() const override { return graph_.ops[op_].workspace_bytes; }

  void run(NativeStream, const KernelArgs& args) const override {
    const PlanOp& op = graph_.ops[op_];
    std::uint64_t hash = mix(op_ + 1);
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      hash = hash_bytes(args.inputs[i], bytes(op.inputs[i]), hash);
    if (op.workspace_bytes > 0)
      std::memset(args.workspace, 0x5A, static_cast<std::size_t>(op.workspace_bytes));
    for (std::size_t o = 0; o < op.outputs.size(); ++o)
      fill(args.outputs[o], bytes(op.outputs[o]), mix(hash + 0x9e3779b97f4a7c15 * (o + 1)));
  }

 private:
  std::int64_t bytes(std::int32_t buffer) const {
    return graph_.buffers[static_cast<std::size_t>(buffer)].bytes;
  }

  const PlanGraph& graph_;
  std::size_t op_;
};

/// One access of a run or a copy to the arena, in units of `arena_alignment`.
struct Access {
  std::int64_t first, last;  // granules, last excluded
  bool reads, writes;

  bool overlaps(const Access& other) const { return first < other.last && other.first < last; }
};

std::vector<Access> accesses(const Program& program, const Instruction& instruction) {
  std::vector<Access> found;
  const auto add = [&](std::int64_t offset, std::int64_t bytes, bool reads, bool writes) {
    const std::int64_t first = offset / arena_alignment,
                       last = (offset + bytes + arena_alignment - 1) / arena_alignment;
    for (Access& known : found)
      if (known.first == first && known.last == last) {
        known.reads |= reads;
        known.writes |= writes;
        return;
      }
    found.push_back({first, last, reads, writes});
  };
  const auto bytes = [&](std::int32_t b) { return program.graph.buffers[static_cast<std::size_t>(b)].bytes; };
  if (instruction.kind != InstructionKind::run) {
    const bool in = instruction.kind == InstructionKind::swap_in;
    add(instruction.offsets[0], bytes(instruction.target), !in, in);
    return found;
  }
  const PlanOp& op = program.graph.ops[static_cast<std::size_t>(instruction.target)];
  std::size_t at = 0;
  for (std::int32_t b : op.inputs) add(instruction.offsets[at++], bytes(b), true, false);
  for (std::int32_t b : op.outputs) add(instruction.offsets[at++], bytes(b), false, true);
  if (op.workspace_bytes > 0) add(instruction.offsets[at], op.workspace_bytes, false, true);
  return found;
}

/// Per granule of the arena and instruction, over unrolled iterations: is its content read later (a walk back), and is
/// every earlier access done (a walk forward)?
class DeadRanges {
 public:
  explicit DeadRanges(const Program& program)
      : program_(program),
        n_(program.instructions.size()),
        granules_(static_cast<std::size_t>(round_up(program.arena_bytes, arena_alignment) / arena_alignment)) {
    for (const Instruction& i : program.instructions) accesses_.push_back(accesses(program, i));
    find_unread();
    find_alone();
  }

  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> ranges() const {
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> dead(n_);
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t k = 0; k < accesses_[i].size(); ++k) {
        if (!unread_[i][k] || !alone_[i][k]) continue;
        const std::int64_t first = accesses_[i][k].first * arena_alignment;
        dead[i].emplace_back(first, std::min(accesses_[i][k].last * arena_alignment, program_.arena_bytes) - first);
      }
    return dead;
  }

 private:
  template <class F>
  bool all_of(const Access& a, F f) const {
    for (std::int64_t g = a.first; g < a.last; ++g)
      if (!f(static_cast<std::size_t>(g))) return false;
    return true;
  }

  /// Two iterations backwards; what is known after the second holds for every iteration but the last. A drain reads the
  /// residents at each boundary.
  void find_unread() {
    std::vector<bool> read(granules_, false);
    unread_.resize(n_);
    for (int iteration = 0; iteration < 2; ++iteration) {
      for (const Resident& r : program_.resident) {
        const std::int64_t bytes = program_.graph.buffers[static_cast<std::size_t>(r.buffer)].bytes;
        for (std::int64_t at = r.offset; at < r.offset + bytes; at += arena_alignment)
          read[static_cast<std::size_t>(at / arena_alignment)] = true;
      }
      for (std::size_t i = n_; i-- > 0;) {
        unread_[i].clear();
        for (const Access& a : accesses_[i]) unread_[i].push_back(all_of(a, [&](std::size_t g) { return !read[g]; }));
        for (const Access& a : accesses_[i])
          for (std::int64_t g = a.first; g < a.last; ++g) read[static_cast<std::size_t>(g)] = a.reads;
      }
    }
  }

  void find_alone() {
    std::vector<std::array<verifier::Event, stream_count>> latest(granules_);
    for (auto& events : latest)
      for (int s = 0; s < stream_count; ++s) events[static_cast<std::size_t>(s)] = {static_cast<StreamKind>(s), -1};
    for (const auto& list : accesses_) alone_.emplace_back(list.size(), true);
    verifier::Clocks clocks(program_);
    for (int iteration = 0; iteration < 3; ++iteration, clocks.next_iteration())
      for (std::size_t i = 0; i < n_; ++i) {
        clocks.enter(i);
        for (std::size_t k = 0; k < accesses_[i].size(); ++k)
          if (!all_of(accesses_[i][k], [&](std::size_t g) {
                return std::all_of(latest[g].begin(), latest[g].end(),
                                   [&](const verifier::Event& e) { return clocks.ordered(e); });
              }))
            alone_[i][k] = false;
        for (const Access& a : accesses_[i])
          for (std::int64_t g = a.first; g < a.last; ++g)
            latest[static_cast<std::size_t>(g)][static_cast<std::size_t>(clocks.event().stream)] = clocks.event();
      }
  }

  const Program& program_;
  std::size_t n_, granules_;
  std::vector<std::vector<Access>> accesses_;
  std::vector<std::vector<bool>> unread_, alone_;
};

}  // namespace

std::vector<std::unique_ptr<Kernel>> mix_kernels(const PlanGraph& graph) {
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) kernels.push_back(std::make_unique<MixKernel>(graph, i));
  return kernels;
}

std::vector<BoundKernel> bind_all(const std::vector<std::unique_ptr<Kernel>>& kernels) {
  std::vector<BoundKernel> bound;
  for (const auto& kernel : kernels) bound.push_back({kernel.get(), {}});
  return bound;
}

Bytes initial_bytes(const PlanGraph& graph, int buffer) {
  return filled(graph.buffers[static_cast<std::size_t>(buffer)].bytes,
                mix(static_cast<std::uint64_t>(buffer) + 77));
}

Bytes input_bytes(const PlanGraph& graph, int buffer, std::int64_t iteration) {
  return filled(graph.buffers[static_cast<std::size_t>(buffer)].bytes,
                mix(static_cast<std::uint64_t>(buffer) * 1000003 + static_cast<std::uint64_t>(iteration)));
}

Reference::Reference(const PlanGraph& g) : graph(g), kernels(mix_kernels(g)) {
  for (std::size_t b = 0; b < g.buffers.size(); ++b)
    buffers.push_back(is_persistent(g.buffers[b].kind) ? initial_bytes(g, static_cast<int>(b))
                                                       : Bytes(static_cast<std::size_t>(g.buffers[b].bytes)));
}

void Reference::run_iteration() {
  for (std::size_t b = 0; b < buffers.size(); ++b)
    if (graph.buffers[b].kind == BufferKind::input)
      buffers[b] = input_bytes(graph, static_cast<int>(b), iteration);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (std::int32_t b : graph.ops[i].inputs) inputs.push_back(buffers[static_cast<std::size_t>(b)].data());
    for (std::int32_t b : graph.ops[i].outputs)
      outputs.push_back(buffers[static_cast<std::size_t>(b)].data());
    Bytes workspace(static_cast<std::size_t>(graph.ops[i].workspace_bytes));
    kernels[i]->run(nullptr, {inputs, outputs, workspace.data()});
  }
  ++iteration;
}

std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> dead_ranges(const Program& program) {
  return DeadRanges(program).ranges();
}

ReferenceRun run_reference(const PlanGraph& graph, int iterations) {
  Reference reference(graph);
  ReferenceRun run;
  for (int i = 0; i < iterations; ++i) {
    reference.run_iteration();
    auto& outputs = run.outputs.emplace_back(graph.buffers.size());
    for (std::size_t b = 0; b < graph.buffers.size(); ++b)
      if (graph.buffers[b].kind == BufferKind::output) outputs[b] = reference.buffers[b];
  }
  run.persistent.resize(graph.buffers.size());
  for (std::size_t b = 0; b < graph.buffers.size(); ++b)
    if (is_persistent(graph.buffers[b].kind)) run.persistent[b] = std::move(reference.buffers[b]);
  return run;
}

std::string run_and_compare(const Program& program, int iterations, bool drain) {
  return run_and_compare(program, run_reference(program.graph, iterations), drain);
}

std::string run_and_compare(const Program& program, const ReferenceRun& reference, bool drain) {
  const auto device = make_cpu_device({.threads = 1});
  const auto kernels = mix_kernels(program.graph);
  return run_and_compare(program, reference, drain, *device, bind_all(kernels), true);
}

std::string run_and_compare(const Program& program, const ReferenceRun& reference, bool drain, Device& device,
                            std::vector<BoundKernel> kernels, bool poison, ExecutorOptions options) {
  const int iterations = static_cast<int>(reference.outputs.size());
  const PlanGraph& graph = program.graph;
  DeviceHostStore host(device, program.device.host_bytes);
  for (std::size_t b = 0; b < graph.buffers.size(); ++b) {
    if (!is_persistent(graph.buffers[b].kind)) continue;
    const Bytes first = initial_bytes(graph, static_cast<int>(b));
    std::copy(first.begin(), first.end(),
              host.reserve(graph.buffers[b].name, graph.buffers[b].bytes).begin());
  }
  if (poison) options.poison = dead_ranges(program);
  Executor executor(program, std::move(kernels), device, host, options);
  if (host.bytes() > program.host_bytes)
    return fmt::format("the executor reserved {} host bytes, the program promises {}", host.bytes(),
                       program.host_bytes);
  const auto compare = [&](const IterationResult& result) -> std::string {
    const std::vector<Bytes>& expected = reference.outputs[static_cast<std::size_t>(result.iteration)];
    for (std::size_t b = 0; b < graph.buffers.size(); ++b)
      if (graph.buffers[b].kind == BufferKind::output && result.outputs[b] != expected[b])
        return fmt::format("iteration {}: output '{}' differs", result.iteration, graph.buffers[b].name);
    return {};
  };
  const auto submit = [&](std::int64_t iteration) {
    std::vector<Bytes> data;
    std::vector<InputData> inputs;
    for (std::size_t b = 0; b < graph.buffers.size(); ++b)
      if (graph.buffers[b].kind == BufferKind::input)
        data.push_back(input_bytes(graph, static_cast<int>(b), iteration));
    std::size_t next = 0;
    for (std::size_t b = 0; b < graph.buffers.size(); ++b)
      if (graph.buffers[b].kind == BufferKind::input) inputs.push_back({static_cast<int>(b), data[next++]});
    executor.submit(inputs);
  };
  for (int i = 0; i < iterations; ++i) {
    if (executor.in_flight() == 2)
      if (std::string error = compare(executor.take()); !error.empty()) return error;
    if (drain && i == iterations / 2) executor.drain();
    submit(i);
  }
  while (executor.in_flight() > 0)
    if (std::string error = compare(executor.take()); !error.empty()) return error;
  executor.drain();
  for (std::size_t b = 0; b < graph.buffers.size(); ++b) {
    if (!is_persistent(graph.buffers[b].kind)) continue;
    const auto slot = host.find(graph.buffers[b].name);
    if (!std::equal(slot.begin(), slot.end(), reference.persistent[b].begin()))
      return fmt::format("after {} iterations '{}' differs", iterations, graph.buffers[b].name);
  }
  return {};
}

}  // namespace swapadvisor::test
