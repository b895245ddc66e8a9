#include <fmt/core.h>
#include <random_plan_graph.h>
#include <swapadvisor/memory/liveness.h>
#include <swapadvisor/swap/planner.h>

#include <algorithm>
#include <string>

namespace swapadvisor {
namespace {

/// SplitMix64: the same numbers everywhere, unlike the standard distributions.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 0x2545F4914F6CDD1Du + 0x9E3779B97F4A7C15u) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30u)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27u)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31u);
  }
  /// Both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(0, 99) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(list.size()) - 1))];
  }

 private:
  std::uint64_t state_;
};

class Maker {
 public:
  Maker(std::uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {
    few_sizes_ = random_.chance(50);
    for (int i = 0; i < 3; ++i) sizes_.push_back(any_size());
  }

  PlanGraph make() {
    graph_.name = "random";
    for (std::int64_t i = random_.between(0, 6); i > 0; --i) add_source(BufferKind::parameter);
    for (std::int64_t i = random_.between(0, 3); i > 0; --i) add_source(BufferKind::state);
    for (std::int64_t i = random_.between(0, 3); i > 0; --i) add_source(BufferKind::input);
    const std::int64_t ops = random_.between(options_.fewest_ops, options_.most_ops);
    while (static_cast<std::int64_t>(graph_.ops.size()) < ops) add_op();
    return std::move(graph_);
  }

 private:
  std::int64_t any_size() {
    static const std::vector<std::int64_t> odd = {1, 2, 127, 251, 255, 256, 257, 509, 512, 1021};
    return random_.chance(40) ? random_.one_of(odd) : random_.between(1, options_.largest_bytes);
  }
  std::int64_t size() { return few_sizes_ && random_.chance(80) ? random_.one_of(sizes_) : any_size(); }

  std::int32_t add_buffer(BufferKind kind, std::int64_t bytes) {
    const std::size_t index = graph_.buffers.size();
    graph_.buffers.push_back({fmt::format("b{}", index), bytes, kind});
    return static_cast<std::int32_t>(index);
  }
  void add_source(BufferKind kind) { readable_.push_back(add_buffer(kind, size())); }
  BufferKind kind(std::int32_t b) const { return graph_.buffers[static_cast<std::size_t>(b)].kind; }

  // Recent buffers more often, so that chains form; the oldest at times, so that values live long.
  std::int32_t pick_readable() {
    const auto count = static_cast<std::int64_t>(readable_.size());
    const std::int64_t back = random_.chance(60) ? std::min<std::int64_t>(count, 4) : count;
    return readable_[static_cast<std::size_t>(random_.between(count - back, count - 1))];
  }

  void add_op() {
    PlanOp op;
    op.type = "op";
    op.name = fmt::format("op{}", graph_.ops.size());
    if (!readable_.empty())
      for (std::int64_t i = random_.between(0, 4); i > 0; --i) op.inputs.push_back(pick_readable());
    if (!op.inputs.empty() && random_.chance(10)) op.inputs.push_back(op.inputs.front());
    bool updates = false;
    for (std::int64_t i = random_.chance(80) ? 1 : random_.between(0, 3); i > 0; --i) {
      const std::int32_t written = output(op, updates);
      if (std::find(op.outputs.begin(), op.outputs.end(), written) == op.outputs.end())
        op.outputs.push_back(written);
    }
    for (std::int32_t b : op.outputs)
      if (std::find(readable_.begin(), readable_.end(), b) == readable_.end()) readable_.push_back(b);
    if (random_.chance(25)) op.workspace_bytes = any_size();
    op.seconds = random_.chance(15) ? 0 : static_cast<double>(random_.between(1, 1000)) * 1e-6;
    op.inplace = random_.chance(40);
    op.recomputable = !updates && random_.chance(70);
    graph_.ops.push_back(std::move(op));
  }

  // What the op writes: something new, or what is there already, updated in place or overwritten.
  std::int32_t output(const PlanOp& op, bool& updates) {
    if (random_.chance(25) && !readable_.empty()) {
      const bool update = !op.inputs.empty() && random_.chance(75);
      const std::int32_t b = update ? random_.one_of(op.inputs) : random_.one_of(readable_);
      if (kind(b) != BufferKind::input) {
        updates = true;
        return b;
      }
    }
    std::int64_t bytes = size();
    if (!op.inputs.empty() && random_.chance(50))
      bytes = graph_.buffers[static_cast<std::size_t>(random_.one_of(op.inputs))].bytes;
    return add_buffer(random_.chance(12) ? BufferKind::output : BufferKind::temporary, bytes);
  }

  Numbers random_;
  RandomGraphOptions options_;
  bool few_sizes_ = false;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int32_t> readable_;
  PlanGraph graph_;
};

}  // namespace

PlanGraph random_plan_graph(std::uint64_t seed, const RandomGraphOptions& options) {
  PlanGraph graph = Maker(seed, options).make();
  check(graph);
  return graph;
}

DeviceSpec random_device(std::uint64_t seed, const PlanGraph& graph) {
  Numbers random(seed + 1000003);
  DeviceSpec device;
  device.name = "random";
  const std::int64_t least = std::max(largest_op_bytes(graph), arena_alignment);
  const std::int64_t most = std::max(device_bytes_needed(graph), least);
  switch (random.between(0, 3)) {
    case 0:
      device.memory_bytes = least;
      break;
    case 1:
      device.memory_bytes = least + random.between(0, (most - least) / 4);
      break;
    case 2:
      device.memory_bytes = least + random.between(0, most - least);
      break;
    default:
      device.memory_bytes = most + random.between(0, 1000);
      break;
  }
  device.h2d_bytes_per_second = static_cast<double>(random.between(1, 20)) * 1e6;
  device.d2h_bytes_per_second = static_cast<double>(random.between(1, 20)) * 1e6;
  device.duplex_bytes_per_second = (device.h2d_bytes_per_second + device.d2h_bytes_per_second) *
                                   static_cast<double>(random.between(5, 10)) / 10;
  device.copy_latency_seconds = random.chance(50) ? 0 : 1e-5;
  device.compute_slowdown_while_copying = random.chance(50) ? 1 : 1.4;
  return device;
}

}  // namespace swapadvisor
