#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/bounds.h>
#include <swapadvisor/swap/simulate.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace swapadvisor {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// Where the part of instruction `index` begins and ends.
template <class Values>
void part_of(const Values& ends, std::size_t index, std::int32_t& begin, std::int32_t& end) {
  begin = index == 0 ? 0 : ends[index - 1];
  end = ends[index];
}

}  // namespace

void FlatProgram::clear() {
  stream.clear();
  work.clear();
  waits.clear();
  waits_end.clear();
  waits_previous.clear();
  waits_previous_end.clear();
}

std::int32_t FlatProgram::add(StreamKind kind, double amount) {
  stream.push_back(kind);
  work.push_back(amount);
  waits_end.push_back(static_cast<std::int32_t>(waits.size()));
  waits_previous_end.push_back(static_cast<std::int32_t>(waits_previous.size()));
  return size() - 1;
}

Simulator::Simulator(const DeviceSpec& device)
    : h2d_(device.h2d_bytes_per_second),
      d2h_(device.d2h_bytes_per_second),
      shared_factor_(1),
      latency_(device.copy_latency_seconds),
      slowdown_(device.compute_slowdown_while_copying) {
  if (!(h2d_ > 0) || !(d2h_ > 0))
    fail("device '{}' has a link of {} and {} bytes per second: expected more than 0", device.name, h2d_,
         d2h_);
  const double duplex = device.duplex_bytes_per_second;
  if (duplex > 0 && duplex < h2d_ + d2h_) shared_factor_ = duplex / (h2d_ + d2h_);
}

void Simulator::load(const FlatProgram& program) {
  const auto count = static_cast<std::size_t>(program.size());
  queues_.clear();
  rank_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Entry>& queue = queues_.of(program.stream[i]);
    rank_[i] = static_cast<std::int32_t>(queue.size());
    queue.emplace_back();
    queue.back().work = program.work[i];
    queue.back().instruction = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Counts& need = queues_.of(program.stream[i])[static_cast<std::size_t>(rank_[i])].need;
    const auto raise = [&](std::int32_t awaited, std::size_t limit, bool previous) {
      SWAPADVISOR_ASSERT(awaited >= 0 && static_cast<std::size_t>(awaited) < limit,
                         "instruction {} waits for {}", i, awaited);
      const auto s = static_cast<std::size_t>(program.stream[static_cast<std::size_t>(awaited)]);
      const std::int32_t done = rank_[static_cast<std::size_t>(awaited)] + 1;
      const auto length = static_cast<std::int32_t>(queues_.entries[s].size());
      need[s] = std::max(need[s], previous ? done - length : done);
    };
    std::int32_t begin, end;
    part_of(program.waits_end, i, begin, end);
    for (; begin < end; ++begin) raise(program.waits[static_cast<std::size_t>(begin)], i, false);
    part_of(program.waits_previous_end, i, begin, end);
    for (; begin < end; ++begin) raise(program.waits_previous[static_cast<std::size_t>(begin)], count, true);
  }
  load(queues_);
}

void Simulator::load(const StreamQueues& queues) {
  for (std::size_t s = 0; s < stream_count; ++s) {
    Stream& stream = streams_[s];
    stream.queue = queues.entries[s].data();
    stream.length = static_cast<std::int32_t>(queues.entries[s].size());
    stream.iteration = stream.position = 0;
    stream.before = {};
    stream.phase = Phase::idle;
    stream.end = never;
  }
  done_ = {};
  rates_stale_ = false;
  now_ = 0;
}

inline bool Simulator::ready(const Stream& stream) const {
  const Counts& need = stream.queue[stream.position].need;
  bool all = true;
  for (std::size_t s = 0; s < stream_count; ++s) all &= done_[s] - stream.before[s] >= need[s];
  return all;
}

inline void Simulator::begin_work(Stream& stream) {
  stream.phase = Phase::active;
  stream.remaining = stream.queue[stream.position].work;
  stream.since = now_;
  stream.rate = 0;  // `update_rates` sets it and the end
  rates_stale_ = true;
}

inline void Simulator::start_ready(std::int32_t count, Timeline* timeline) {
  for (Stream& stream : streams_) {
    if (stream.phase != Phase::idle || stream.length == 0 || stream.iteration == count || !ready(stream))
      continue;
    if (timeline) {
      const auto entry =
          static_cast<std::size_t>(stream.iteration) * static_cast<std::size_t>(timeline->instructions) +
          static_cast<std::size_t>(stream.queue[stream.position].instruction);
      timeline->start[entry] = now_;
    }
    if (&stream != &at(StreamKind::compute) && latency_ > 0) {
      stream.phase = Phase::latency;
      stream.end = now_ + latency_;
    } else {
      begin_work(stream);
    }
  }
}

inline void Simulator::set_rate(Stream& stream, double rate) {
  if (stream.phase != Phase::active || stream.rate == rate) return;
  stream.remaining = std::max(0.0, stream.remaining - (now_ - stream.since) * stream.rate);
  stream.since = now_;
  stream.rate = rate;
  stream.end = now_ + stream.remaining / rate;
}

inline void Simulator::update_rates() {
  Stream& in = at(StreamKind::in);
  Stream& out = at(StreamKind::out);
  const bool in_moves = in.phase == Phase::active;
  const bool out_moves = out.phase == Phase::active;
  const double factor = in_moves && out_moves ? shared_factor_ : 1;
  set_rate(in, h2d_ * factor);
  set_rate(out, d2h_ * factor);
  set_rate(at(StreamKind::compute), in_moves || out_moves ? 1 / slowdown_ : 1);
  rates_stale_ = false;
}

inline void Simulator::finish(std::size_t s, Timeline* timeline) {
  Stream& stream = streams_[s];
  if (stream.phase == Phase::latency) return begin_work(stream);
  if (timeline) {
    const auto entry =
        static_cast<std::size_t>(stream.iteration) * static_cast<std::size_t>(timeline->instructions) +
        static_cast<std::size_t>(stream.queue[stream.position].instruction);
    timeline->end[entry] = now_;
  }
  stream.phase = Phase::idle;
  stream.end = never;
  rates_stale_ |= s != static_cast<std::size_t>(StreamKind::compute);
  ++done_[s];
  if (++stream.position < stream.length) return;
  stream.position = 0;
  ++stream.iteration;
  for (std::size_t other = 0; other < stream_count; ++other) stream.before[other] += streams_[other].length;
}

// Goes to the next event. False when nothing runs any more.
inline bool Simulator::step(std::int32_t count, Timeline* timeline) {
  start_ready(count, timeline);
  if (rates_stale_) update_rates();
  double next = never;
  for (const Stream& stream : streams_) next = std::min(next, stream.end);
  if (next == never) return false;
  now_ = next;
  for (std::size_t s = 0; s < stream_count; ++s)
    if (streams_[s].end == next) finish(s, timeline);
  return true;
}

Simulator::Snapshot Simulator::snapshot() const {
  Snapshot result;
  const std::array<double, stream_count> full_rate{1, h2d_, d2h_};
  const Stream& compute = streams_[static_cast<std::size_t>(StreamKind::compute)];
  for (std::size_t s = 0; s < stream_count; ++s) {
    result.lead[s] = done_[s] - compute.before[s];
    result.phase[s] = streams_[s].phase;
    if (streams_[s].phase == Phase::idle) continue;
    const Stream& stream = streams_[s];
    result.left[s] = stream.phase == Phase::latency
                         ? stream.end - now_
                         : (stream.remaining - (now_ - stream.since) * stream.rate) / full_rate[s];
  }
  return result;
}

// Up to rounding. What has been started for the iteration after the last must not differ from what
// `iterations` allows, either.
bool Simulator::repeats(const Snapshot& before, const Snapshot& after) const {
  if (before.lead != after.lead || before.phase != after.phase) return false;
  for (std::size_t s = 0; s < stream_count; ++s) {
    if (std::abs(before.left[s] - after.left[s]) > 1e-12 * now_) return false;
    if (after.lead[s] + (after.phase[s] == Phase::idle ? 0 : 1) > streams_[s].length) return false;
  }
  return true;
}

double Simulator::iteration_seconds(const FlatProgram& program) {
  load(program);
  return measure(3, 7);
}

double Simulator::iteration_seconds(const StreamQueues& queues) {
  load(queues);
  return measure(3, 7);
}

double Simulator::quick_iteration_seconds(const StreamQueues& queues) {
  load(queues);
  return measure(1, 2);
}

// From the end of the last compute instruction of iteration `first_measured` to that of `last_measured`,
// counted from 1, per iteration.
double Simulator::measure(std::int32_t first_measured, std::int32_t last_measured) {
  const Stream& compute = at(StreamKind::compute);
  if (compute.length == 0) return 0;
  double work = 0;
  for (std::int32_t k = 0; k < compute.length; ++k) work += compute.queue[k].work;
  double begin = 0, previous_end = 0;
  Snapshot previous;
  while (compute.iteration < last_measured) {
    const std::int32_t iteration = compute.iteration;
    const bool progress = step(iterations, nullptr);
    SWAPADVISOR_ASSERT(progress, "the program deadlocks in the simulator");
    if (compute.iteration == iteration) continue;
    if (compute.iteration == first_measured) begin = now_;
    const Snapshot current = snapshot();
    if (iteration > 0 && compute.iteration < last_measured && repeats(previous, current)) {
      const double period = now_ - previous_end;
      if (compute.iteration <= first_measured) return std::max(work, period);
      now_ += (last_measured - compute.iteration) * period;
      break;
    }
    previous = current;
    previous_end = now_;
  }
  // The maximum undoes rounding only.
  return std::max(work, (now_ - begin) / (last_measured - first_measured));
}

void Simulator::timeline(const FlatProgram& program, std::int32_t count, Timeline& timeline) {
  load(program);
  const auto entries = static_cast<std::size_t>(count) * static_cast<std::size_t>(program.size());
  timeline.iterations = count;
  timeline.instructions = program.size();
  timeline.start.assign(entries, 0);
  timeline.end.assign(entries, 0);
  while (step(count, &timeline)) continue;
  for (const Stream& stream : streams_)
    SWAPADVISOR_ASSERT(stream.length == 0 || stream.iteration == count,
                       "the program deadlocks in the simulator");
}

void flatten(const Program& program, FlatProgram& flat) {
  flat.clear();
  for (const Instruction& instruction : program.instructions) {
    const auto target = static_cast<std::size_t>(instruction.target);
    const bool run = instruction.kind == InstructionKind::run;
    flat.add(instruction.stream(), run ? program.graph.ops[target].seconds
                                       : static_cast<double>(program.graph.buffers[target].bytes));
    for (std::int32_t i : instruction.wait) flat.wait_for(i);
    for (std::int32_t i : instruction.wait_previous) flat.wait_for_previous(i);
  }
}

Timeline simulate_timeline(const Program& program, std::int32_t iterations) {
  FlatProgram flat;
  flatten(program, flat);
  Timeline timeline;
  Simulator(program.device).timeline(flat, iterations, timeline);
  return timeline;
}

std::int64_t peak_bytes(const Program& program) {
  std::int64_t peak = 0;
  const auto bytes_of = [&](std::int32_t b) {
    return program.graph.buffers[static_cast<std::size_t>(b)].bytes;
  };
  for (const Resident& resident : program.resident)
    peak = std::max(peak, resident.offset + bytes_of(resident.buffer));
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != InstructionKind::run) {
      peak = std::max(peak, instruction.offsets.front() + bytes_of(instruction.target));
      continue;
    }
    const PlanOp& op = program.graph.ops[static_cast<std::size_t>(instruction.target)];
    auto offset = instruction.offsets.begin();
    for (std::int32_t b : op.inputs) peak = std::max(peak, *offset++ + bytes_of(b));
    for (std::int32_t b : op.outputs) peak = std::max(peak, *offset++ + bytes_of(b));
    if (op.workspace_bytes > 0) peak = std::max(peak, *offset + op.workspace_bytes);
  }
  return peak;
}

Prediction simulate(const Program& program) {
  Prediction prediction;
  FlatProgram flat;
  flatten(program, flat);
  prediction.iteration_seconds = Simulator(program.device).iteration_seconds(flat);
  prediction.ideal_seconds = total_seconds(program.graph);
  prediction.efficiency =
      prediction.iteration_seconds > 0 ? prediction.ideal_seconds / prediction.iteration_seconds : 1;
  std::vector<bool> has_run(program.graph.ops.size(), false);
  for (const Instruction& instruction : program.instructions) {
    const auto target = static_cast<std::size_t>(instruction.target);
    switch (instruction.kind) {
      case InstructionKind::swap_in:
        prediction.swap_in_bytes += program.graph.buffers[target].bytes;
        break;
      case InstructionKind::swap_out:
        prediction.swap_out_bytes += program.graph.buffers[target].bytes;
        break;
      case InstructionKind::run:
        if (has_run[target]) prediction.recompute_seconds += program.graph.ops[target].seconds;
        has_run[target] = true;
    }
  }
  prediction.peak_bytes = peak_bytes(program);
  prediction.bound_seconds = bound_seconds(program.graph, program.device);
  prediction.swap_bound_seconds = swap_bound_seconds(program);
  return prediction;
}

}  // namespace swapadvisor
