#include <swapadvisor/core/kernel_algorithm.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/swap/profile.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>

namespace swapadvisor {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// One node's operands side by side in the arena; a buffer that occurs twice has one place.
struct PackedNode {
  std::vector<std::pair<int, std::int64_t>> buffers;  // (buffer, offset)
  std::int64_t workspace = 0;
  std::int64_t bytes = 0;

  std::int64_t offset(int buffer) const {
    return std::find_if(buffers.begin(), buffers.end(), [&](const auto& b) { return b.first == buffer; })
        ->second;
  }
};

PackedNode pack(const Graph& graph, const Node& node, const Kernel& kernel) {
  PackedNode packed;
  const auto place = [&](int tensor) {
    const int buffer = graph.tensors()[static_cast<std::size_t>(tensor)].buffer;
    for (const auto& [known, offset] : packed.buffers)
      if (known == buffer) return;
    packed.buffers.emplace_back(buffer, packed.bytes);
    const Buffer& b = graph.buffers()[static_cast<std::size_t>(buffer)];
    packed.bytes += round_up(b.spec.bytes(), arena_alignment);
  };
  for (int tensor : node.inputs) place(tensor);
  for (int tensor : node.outputs) place(tensor);
  packed.workspace = packed.bytes;
  packed.bytes += round_up(kernel.workspace_bytes(), arena_alignment);
  return packed;
}

template <class T>
void fill_ones(HostMemory& memory) {
  const T one(1);
  for (std::int64_t at = 0; at + static_cast<std::int64_t>(sizeof(T)) <= memory.bytes(); at += sizeof(T))
    std::memcpy(memory.data() + at, &one, sizeof(T));
}

std::unique_ptr<HostMemory> host_ones(Device& device, DType dtype, std::int64_t bytes) {
  auto memory = device.host_alloc(bytes);
  switch (dtype) {
    case DType::f32:
      fill_ones<float>(*memory);
      break;
    case DType::f64:
      fill_ones<double>(*memory);
      break;
    case DType::u8:
      fill_ones<std::uint8_t>(*memory);
      break;
    case DType::i32:
      fill_ones<std::int32_t>(*memory);
      break;
    case DType::i64:
      fill_ones<std::int64_t>(*memory);
      break;
    case DType::bf16:
      fill_ones<BFloat16>(*memory);
      break;
  }
  return memory;
}

/// Runs single nodes of a graph on operands of ones, in the arena.
class NodeRunner {
 public:
  /// `spare_share`: so much of what the neediest op takes is kept free at the end of the arena, as far as the
  /// limit allows.
  NodeRunner(const Graph& graph, const std::vector<std::unique_ptr<Kernel>>& kernels, Device& device,
             std::int64_t memory_limit, double spare_share = 0)
      : graph_(graph), kernels_(kernels), device_(device) {
    std::int64_t arena = 1;
    std::map<DType, std::int64_t> largest;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      packed_.push_back(pack(graph, graph.nodes()[i], *kernels[i]));
      arena = std::max(arena, packed_[i].bytes);
      for (const auto& [buffer, offset] : packed_[i].buffers) {
        const TensorSpec& spec = graph.buffers()[static_cast<std::size_t>(buffer)].spec;
        std::int64_t& bytes = largest[spec.dtype];
        bytes = std::max(bytes, spec.bytes());
      }
    }
    if (arena > memory_limit) refuse(arena, memory_limit);
    const auto spare = static_cast<std::int64_t>(spare_share * static_cast<double>(arena));
    base_ = device.arena(arena + std::min(spare, memory_limit - arena));
    swapped_in_ = device.make_event();
    for (const auto& [dtype, bytes] : largest) ones_[dtype] = host_ones(device, dtype, bytes);
  }

  /// Queues fresh ones for all operands of the node: temporaries on the stream of the ops, as a producer
  /// would leave them; what persists from step to step on that of the swap-ins, so that no core of the ops
  /// has it in its caches.
  void refresh(std::size_t node) {
    Stream& in = device_.stream(StreamKind::in);
    Stream& compute = device_.stream(StreamKind::compute);
    for (const auto& [buffer, offset] : packed_[node].buffers) {
      const Buffer& b = graph_.buffers()[static_cast<std::size_t>(buffer)];
      Stream& stream = is_persistent(b.kind) ? in : compute;
      stream.copy(base_ + offset, ones_.at(b.spec.dtype)->data(), b.spec.bytes());
    }
    in.record(*swapped_in_);
    compute.wait(*swapped_in_);
  }

  /// Queues the node on the compute stream. The arguments of the latest call per node stay until the next.
  void launch(std::size_t node) {
    Arguments& a = arguments(node);
    device_.stream(StreamKind::compute).launch(*kernels_[node], a.args);
  }

  std::byte* base() const { return base_; }
  /// Bytes of the arena that the node uses.
  std::int64_t bytes(std::size_t node) const { return packed_[node].bytes; }

 private:
  struct Arguments {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    KernelArgs args;
  };

  [[noreturn]] void refuse(std::int64_t need, std::int64_t limit) const {
    const auto neediest =
        std::find_if(packed_.begin(), packed_.end(), [&](const auto& p) { return p.bytes == need; });
    const Node& node = graph_.nodes()[static_cast<std::size_t>(neediest - packed_.begin())];
    fail("op '{}' ({}) {}", node.name, node.op->type(), format_need(need, limit, "device memory"));
  }

  Arguments& arguments(std::size_t index) {
    arguments_.resize(kernels_.size());
    auto& slot = arguments_[index];
    if (slot) return *slot;
    slot = std::make_unique<Arguments>();
    const Node& node = graph_.nodes()[index];
    const auto address = [&](int tensor) {
      const TensorInfo& info = graph_.tensors()[static_cast<std::size_t>(tensor)];
      return base_ + packed_[index].offset(info.buffer) + info.byte_offset;
    };
    for (int tensor : node.inputs) slot->inputs.push_back(address(tensor));
    for (int tensor : node.outputs) slot->outputs.push_back(address(tensor));
    slot->args = {slot->inputs, slot->outputs,
                  kernels_[index]->workspace_bytes() > 0 ? base_ + packed_[index].workspace : nullptr};
    return *slot;
  }

  const Graph& graph_;
  const std::vector<std::unique_ptr<Kernel>>& kernels_;
  Device& device_;
  std::vector<PackedNode> packed_;
  std::vector<std::unique_ptr<Arguments>> arguments_;
  std::map<DType, std::unique_ptr<HostMemory>> ones_;
  std::byte* base_ = nullptr;
  std::unique_ptr<Event> swapped_in_;
};

double time_node(NodeRunner& runner, std::size_t node, Device& device, Event& start, Event& end) {
  Stream& compute = device.stream(StreamKind::compute);
  runner.refresh(node);
  compute.record(start);
  runner.launch(node);
  compute.record(end);
  compute.synchronize();
  return end.seconds() - start.seconds();
}

void obey(const std::stop_token& stop) {
  if (stop.stop_requested()) fail("interrupted while measuring");
}

/// What one measurement of copies beside compute found.
struct Beside {
  double compute_seconds = 0;
  double in_bytes_per_second = 0, out_bytes_per_second = 0;
};

/// Times the link by copying to and from the end of the arena while the compute stream runs a sample of the
/// graph's ops: those that leave room for one block per direction there. A copy must never touch what an op
/// uses; library kernels keep the state of their threads in the workspace.
class LinkTimer {
 public:
  LinkTimer(NodeRunner& runner, Device& device) : runner_(runner), device_(device) {
    // A slow link gets small blocks: one copy takes at most a twentieth of a second.
    const auto most =
        device.link_limit() > 0 ? static_cast<std::int64_t>(device.link_limit() / 20) : 32 << 20;
    block_ =
        std::clamp<std::int64_t>(device.arena_bytes() / 16, 1, std::clamp<std::int64_t>(most, 1, 32 << 20));
    for (auto& host : host_) host = device.host_alloc(block_);
  }

  bool leaves_room(std::size_t node) const {
    return runner_.bytes(node) <= device_.arena_bytes() - 2 * block_;
  }
  /// What the compute stream runs during `measure`; nodes that leave room.
  void set_sample(std::vector<std::size_t> sample) { sample_ = std::move(sample); }

  double latency() {
    std::vector<double> seconds;
    for (int i = 0; i < 21; ++i) seconds.push_back(copy_seconds(std::min<std::int64_t>(64, block_)));
    return *std::min_element(seconds.begin(), seconds.end());  // what else the machine does only adds to it
  }

  /// Seconds of one block alone, to choose how many copies fill a measurement.
  double block_seconds() {
    std::vector<double> seconds;
    for (int i = 0; i < 3; ++i) seconds.push_back(copy_seconds(block_));
    return median(seconds);
  }

  Beside measure(bool in, bool out, int copies, double latency) {
    auto start = device_.make_event(), end = device_.make_event();
    Stream& compute = device_.stream(StreamKind::compute);
    compute.record(*start);
    for (std::size_t node : sample_) runner_.launch(node);
    compute.record(*end);
    Direction directions[2] = {{StreamKind::in, {}, {}}, {StreamKind::out, {}, {}}};
    for (int d = 0; d < 2; ++d)
      if (d == 0 ? in : out) queue_copies(directions[d], d, copies);
    device_.synchronize();
    Beside beside{end->seconds() - start->seconds(), 0, 0};
    if (in) beside.in_bytes_per_second = speed(directions[0], latency);
    if (out) beside.out_bytes_per_second = speed(directions[1], latency);
    return beside;
  }

 private:
  struct Direction {
    StreamKind kind;
    std::vector<std::unique_ptr<Event>> starts, ends;
  };

  std::byte* device_block(int d) { return runner_.base() + device_.arena_bytes() - (d + 1) * block_; }

  double copy_seconds(std::int64_t bytes) {
    auto start = device_.make_event(), end = device_.make_event();
    Stream& in = device_.stream(StreamKind::in);
    in.record(*start);
    in.copy(device_block(0), host_[0]->data(), bytes);
    in.record(*end);
    in.synchronize();
    return end->seconds() - start->seconds();
  }

  void queue_copies(Direction& direction, int d, int copies) {
    Stream& stream = device_.stream(direction.kind);
    std::byte* device = device_block(d);
    std::byte* host = host_[d]->data();
    for (int i = 0; i < copies; ++i) {
      direction.starts.push_back(device_.make_event());
      direction.ends.push_back(device_.make_event());
      stream.record(*direction.starts.back());
      if (d == 0)
        stream.copy(device, host, block_);
      else
        stream.copy(host, device, block_);
      stream.record(*direction.ends.back());
    }
  }

  double speed(const Direction& direction, double latency) const {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < direction.starts.size(); ++i)
      seconds.push_back(direction.ends[i]->seconds() - direction.starts[i]->seconds());
    // Of a small block the latency is most, and either may be measured in a bad moment: it explains half at
    // most.
    const double whole = std::max(median(seconds), 1e-9);
    return static_cast<double>(block_) / std::max(whole - latency, whole / 2);
  }

  NodeRunner& runner_;
  std::vector<std::size_t> sample_;
  Device& device_;
  std::int64_t block_ = 0;
  std::unique_ptr<HostMemory> host_[2];
};

/// Of the nodes allowed, some spread over the graph that take about `target` seconds together; all repeat
/// when they are shorter.
template <class Allowed>
std::vector<std::size_t> sample_nodes(const std::vector<OpProfile>& profiles, double target,
                                      const Allowed& allowed) {
  double total = 0;
  for (std::size_t i = 0; i < profiles.size(); ++i) total += allowed(i) ? profiles[i].seconds : 0;
  std::vector<std::size_t> sample;
  if (total <= 0) return sample;
  double due = 0, run = 0, passed = 0;
  const double share = target / total;
  while (run < target && sample.size() < 100000)
    for (std::size_t i = 0; i < profiles.size() && run < target; ++i) {
      if (!allowed(i)) continue;
      passed += profiles[i].seconds;
      due = share * passed;
      if (run > due) continue;
      sample.push_back(i);
      run += profiles[i].seconds;
    }
  return sample;
}

}  // namespace

std::vector<OpProfile> workspace_profiles(const std::vector<std::unique_ptr<Kernel>>& kernels) {
  std::vector<OpProfile> profiles;
  for (const auto& kernel : kernels) {
    const auto* choice = dynamic_cast<const KernelAlgorithm*>(kernel.get());
    profiles.push_back({0, kernel->workspace_bytes(), choice ? choice->algorithm() : std::string()});
  }
  return profiles;
}

std::vector<OpProfile> profile_ops(const Graph& graph, const std::vector<std::unique_ptr<Kernel>>& kernels,
                                   Device& device, const ProfileOptions& options) {
  NodeRunner runner(graph, kernels, device, options.memory_limit);
  const auto start = device.make_event(), end = device.make_event();
  std::vector<OpProfile> profiles = workspace_profiles(kernels);
  // Pass by pass over the graph, not op by op: a slow moment of the machine then hits one sample of an op,
  // not all.
  std::vector<std::vector<double>> seconds(kernels.size());
  const int repeats = std::max(1, options.repeats), total = static_cast<int>(kernels.size()) * (repeats + 1);
  int done = 0;
  for (int pass = 0; pass <= repeats; ++pass)
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      obey(options.stop);
      const double sample = time_node(runner, i, device, *start, *end);
      if (pass > 0) seconds[i].push_back(sample);  // the first pass warms up
      if (options.progress) options.progress(++done, total);
    }
  for (std::size_t i = 0; i < kernels.size(); ++i) profiles[i].seconds = median(seconds[i]);
  return profiles;
}

DeviceSpec profile_link(const Graph& graph, const std::vector<std::unique_ptr<Kernel>>& kernels,
                        const std::vector<OpProfile>& profiles, Device& device,
                        const ProfileOptions& options) {
  constexpr double sample_seconds = 0.1;
  constexpr int rounds = 5;
  NodeRunner runner(graph, kernels, device, options.memory_limit, 0.25);
  LinkTimer timer(runner, device);
  std::vector<std::size_t> sample =
      sample_nodes(profiles, sample_seconds, [&](std::size_t node) { return timer.leaves_room(node); });
  const bool computes = !sample.empty();
  timer.set_sample(std::move(sample));
  DeviceSpec spec;
  spec.name = device.name();
  spec.memory_bytes = options.memory_limit;
  spec.copy_latency_seconds = timer.latency();
  const int copies =
      std::clamp(static_cast<int>(sample_seconds / std::max(timer.block_seconds(), 1e-6)), 3, 2000);
  timer.measure(false, false, 0, 0);  // warm up
  // Alone and beside copies by turns, each ratio within one round: the machine's own drift must not look like
  // an effect.
  std::vector<double> h2d, d2h, duplex, slowdown;
  for (int round = 0; round < rounds; ++round) {
    obey(options.stop);
    const Beside alone = timer.measure(false, false, 0, 0);
    const Beside in = timer.measure(true, false, copies, spec.copy_latency_seconds);
    const Beside out = timer.measure(false, true, copies, spec.copy_latency_seconds);
    const Beside both = timer.measure(true, true, copies, spec.copy_latency_seconds);
    h2d.push_back(in.in_bytes_per_second);
    d2h.push_back(out.out_bytes_per_second);
    duplex.push_back(both.in_bytes_per_second + both.out_bytes_per_second);
    const double beside = (in.compute_seconds + out.compute_seconds + both.compute_seconds) / 3;
    slowdown.push_back(computes && alone.compute_seconds > 0 ? beside / alone.compute_seconds : 1);
  }
  spec.h2d_bytes_per_second = median(h2d);
  spec.d2h_bytes_per_second = median(d2h);
  spec.duplex_bytes_per_second =
      std::min(median(duplex), spec.h2d_bytes_per_second + spec.d2h_bytes_per_second);
  spec.compute_slowdown_while_copying = std::max(1.0, median(slowdown));
  return spec;
}

}  // namespace swapadvisor
