#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/bounds.h>
#include <swapadvisor/swap/dependencies.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace swapadvisor {
namespace {

// The values that the rest of the iteration still reads, while a boundary moves from the last op to the
// first.
class StillRead {
 public:
  explicit StillRead(const PlanGraph& graph) : graph_(graph), read_(graph.buffers.size(), false) {}

  void cross(const PlanOp& op) {
    for (std::int32_t b : op.outputs) set(b, false);
    for (std::int32_t b : op.inputs) set(b, true);
  }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t persistent_bytes() const { return persistent_bytes_; }

 private:
  void set(std::int32_t b, bool read) {
    const auto index = static_cast<std::size_t>(b);
    const PlanBuffer& buffer = graph_.buffers[index];
    if (read_[index] == read || buffer.kind == BufferKind::input) return;
    read_[index] = read;
    const std::int64_t change = read ? buffer.bytes : -buffer.bytes;
    bytes_ += change;
    if (is_persistent(buffer.kind)) persistent_bytes_ += change;
  }

  const PlanGraph& graph_;
  std::vector<bool> read_;
  std::int64_t bytes_ = 0;
  std::int64_t persistent_bytes_ = 0;
};

}  // namespace

double swap_bound_seconds(const PlanGraph& graph, std::span<const std::int32_t> order,
                          const DeviceSpec& device, std::int64_t capacity) {
  double before = 0;
  for (std::int32_t i : order) before += graph.ops[static_cast<std::size_t>(i)].seconds;
  double bound = before;
  double after = 0;
  StillRead rest(graph);
  for (std::size_t t = order.size(); t-- > 0;) {
    const PlanOp& op = graph.ops[static_cast<std::size_t>(order[t])];
    before -= op.seconds;
    after += op.seconds;
    rest.cross(op);
    if (rest.bytes() <= capacity) continue;
    const std::int64_t excess = rest.bytes() - capacity;
    const std::int64_t stored = std::max<std::int64_t>(0, excess - rest.persistent_bytes());
    bound = std::max(bound, std::max(before, static_cast<double>(stored) / device.d2h_bytes_per_second) +
                                std::max(after, static_cast<double>(excess) / device.h2d_bytes_per_second));
  }
  return bound;
}

double swap_bound_seconds(const Program& program) {
  return swap_bound_seconds(program.graph, first_run_order(program), program.device,
                            program.device.memory_bytes);
}

std::vector<std::int32_t> first_run_order(const Program& program) {
  std::vector<std::int32_t> order;
  std::vector<bool> has_run(program.graph.ops.size(), false);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != InstructionKind::run) continue;
    const auto op = static_cast<std::size_t>(instruction.target);
    if (!has_run[op]) order.push_back(instruction.target);
    has_run[op] = true;
  }
  return order;
}

namespace {

/// What crosses a cut behind an op: values that its ancestors (or it) wrote and its descendants read.
class Cut {
 public:
  explicit Cut(const PlanGraph& graph) : graph_(graph), dependencies_(graph) {
    for (std::size_t i = 0; i < graph.ops.size(); ++i)
      for (std::int32_t after : dependencies_.successors(static_cast<std::int32_t>(i)))
        before_.emplace_back(after, static_cast<std::int32_t>(i));
    std::sort(before_.begin(), before_.end());
  }

  double bound(std::int32_t op, const DeviceSpec& device) {
    mark_sides(op);
    collect();
    const double memory = static_cast<double>(device.memory_bytes);
    const double excess = temporary_bytes_ + persistent_bytes_ - memory;
    if (excess <= 0) return before_seconds_ + after_seconds_;
    std::sort(ways_.begin(), ways_.end(), [](const Way& a, const Way& b) { return a.price < b.price; });
    // Recompute what is cheapest per byte, up to each value in turn: the best amount is a corner of the
    // convex cost, or where the two sides of a maximum meet.
    double best = std::numeric_limits<double>::infinity(), again_bytes = 0, again_seconds = 0;
    const auto cost = [&](double bytes, double seconds) {
      const double copied = std::max(0.0, excess - bytes);
      const double out = std::max(0.0, copied - persistent_bytes_);
      return std::max(before_seconds_, out / device.d2h_bytes_per_second) +
             std::max(after_seconds_ + seconds, copied / device.h2d_bytes_per_second);
    };
    best = cost(0, 0);
    for (const Way& way : ways_) {
      // The cost is convex along the value: a ternary search, rounded down.
      double low = 0, high = 1;
      for (int k = 0; k < 60; ++k) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        const double at_a = cost(again_bytes + a * way.bytes, again_seconds + a * way.bytes * way.price);
        const double at_b = cost(again_bytes + b * way.bytes, again_seconds + b * way.bytes * way.price);
        (at_a < at_b ? high : low) = at_a < at_b ? b : a;
      }
      best = std::min(best, cost(again_bytes + low * way.bytes, again_seconds + low * way.bytes * way.price));
      again_bytes += way.bytes;
      again_seconds += way.bytes * way.price;
      best = std::min(best, cost(again_bytes, again_seconds));
      if (again_bytes >= excess) break;
    }
    return best * (1 - 1e-9);  // for the ternary search
  }

 private:
  enum Side : std::uint8_t { neither, ancestor, descendant };
  struct Way {
    double price = 0;  // seconds per byte of a second run
    double bytes = 0;
  };

  void mark_sides(std::int32_t op) {
    side_.assign(graph_.ops.size(), neither);
    side_[static_cast<std::size_t>(op)] = ancestor;
    for (std::int32_t i = op; i >= 0; --i) {
      if (side_[static_cast<std::size_t>(i)] != ancestor) continue;
      auto edge = std::lower_bound(before_.begin(), before_.end(), std::pair(i, std::int32_t{0}));
      for (; edge != before_.end() && edge->first == i; ++edge)
        side_[static_cast<std::size_t>(edge->second)] = ancestor;
    }
    for (std::int32_t i = op; i < static_cast<std::int32_t>(graph_.ops.size()); ++i)
      if (i == op || side_[static_cast<std::size_t>(i)] == descendant)
        for (std::int32_t after : dependencies_.successors(i))
          side_[static_cast<std::size_t>(after)] = descendant;
  }

  // Goes through the graph's own order, in which every reader finds the value that it reads in any order.
  void collect() {
    before_seconds_ = after_seconds_ = temporary_bytes_ = persistent_bytes_ = 0;
    ways_.clear();
    std::vector<std::int32_t> writer(graph_.buffers.size(), -1);
    std::vector<std::uint8_t> counted(graph_.buffers.size(), 0);
    std::vector<double> crossing(graph_.ops.size(), 0);  // bytes of each op's outputs that cross
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const PlanOp& op = graph_.ops[i];
      if (side_[i] == ancestor) before_seconds_ += op.seconds;
      if (side_[i] == descendant) {
        after_seconds_ += op.seconds;
        for (std::int32_t b : op.inputs) count(b, writer[static_cast<std::size_t>(b)], counted, crossing);
      }
      for (std::int32_t b : op.outputs) writer[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(i);
    }
    for (std::size_t i = 0; i < crossing.size(); ++i)
      if (crossing[i] > 0 && graph_.ops[i].recomputable)
        ways_.push_back({graph_.ops[i].seconds / crossing[i], crossing[i]});
  }

  void count(std::int32_t b, std::int32_t writer, std::vector<std::uint8_t>& counted,
             std::vector<double>& crossing) {
    const PlanBuffer& buffer = graph_.buffers[static_cast<std::size_t>(b)];
    if (counted[static_cast<std::size_t>(b)] != 0 || buffer.kind == BufferKind::input) return;
    const bool from_before = writer >= 0 && side_[static_cast<std::size_t>(writer)] == ancestor;
    const auto bytes = static_cast<double>(buffer.bytes);
    if (is_persistent(buffer.kind)) {
      if (writer >= 0 && !from_before) return;
      persistent_bytes_ += bytes;
    } else {
      if (!from_before) return;
      temporary_bytes_ += bytes;
      crossing[static_cast<std::size_t>(writer)] += bytes;
    }
    counted[static_cast<std::size_t>(b)] = 1;
  }

  const PlanGraph& graph_;
  Dependencies dependencies_;
  std::vector<std::pair<std::int32_t, std::int32_t>> before_;  // (op, predecessor)
  std::vector<std::uint8_t> side_;
  double before_seconds_ = 0, after_seconds_ = 0, temporary_bytes_ = 0, persistent_bytes_ = 0;
  std::vector<Way> ways_;
};

}  // namespace

double bound_seconds(const PlanGraph& graph, const DeviceSpec& device) {
  constexpr std::int64_t most_cuts = 64;
  const double ideal = total_seconds(graph);
  double bytes = 0;
  for (const PlanBuffer& buffer : graph.buffers) bytes += static_cast<double>(buffer.bytes);
  if (graph.ops.empty() || bytes <= static_cast<double>(device.memory_bytes)) return ideal;
  // Any op gives a bound: some, evenly spread.
  const auto n = static_cast<std::int64_t>(graph.ops.size());
  Cut cut(graph);
  double bound = ideal;
  for (std::int64_t k = 0; k < std::min(n, most_cuts); ++k)
    bound = std::max(bound, cut.bound(static_cast<std::int32_t>(k * n / std::min(n, most_cuts)), device));
  return bound;
}

}  // namespace swapadvisor
