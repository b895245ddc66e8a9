// The result of a pool walk: for the simulator, and as an instruction list.
#include <swapadvisor/swap/pool_walk.h>

#include <algorithm>

namespace swapadvisor {
namespace {

constexpr auto compute = static_cast<std::size_t>(StreamKind::compute);
constexpr auto in = static_cast<std::size_t>(StreamKind::in);
constexpr auto out = static_cast<std::size_t>(StreamKind::out);

void raise(std::int32_t& need, std::int32_t count) {
  need = std::max(need, count);
}

}  // namespace

// By the step after which they are listed; swap-outs of one step in the order in which they were decided.
void PoolWalker::sort_swap_outs() {
  const std::size_t n = order_.size();
  out_counts_.assign(n + 2, 0);
  for (const SwapOut& o : swap_outs_) ++out_counts_[static_cast<std::size_t>(o.step + 2)];
  for (std::size_t s = 1; s < out_counts_.size(); ++s) out_counts_[s] += out_counts_[s - 1];
  out_order_.resize(swap_outs_.size());
  out_rank_.resize(swap_outs_.size());
  for (std::size_t k = 0; k < swap_outs_.size(); ++k) {
    const std::int32_t rank = out_counts_[static_cast<std::size_t>(swap_outs_[k].step + 1)]++;
    out_rank_[k] = rank;
    out_order_[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>(k);
  }
}

void PoolWalker::build_queues() {
  queues_.clear();
  build_run_queue();
  build_in_queue();
  build_out_queue();
}

void PoolWalker::build_run_queue() {
  std::vector<StreamQueues::Entry>& queue = queues_.of(StreamKind::compute);
  const std::vector<PlanOp>& ops = table_->graph().ops;
  const auto ins = static_cast<std::int32_t>(swap_ins_.size());
  const auto outs = static_cast<std::int32_t>(swap_outs_.size());
  std::int32_t first_out = 0;
  for (std::size_t s = 0; s < order_.size(); ++s) {
    StreamQueues::Entry& entry = queue.emplace_back();
    entry.work = ops[static_cast<std::size_t>(order_[s])].seconds;
    entry.need[in] = runs_[s].in;
    for (; first_out < runs_[s].outs_end; ++first_out)
      raise(entry.need[out],
            out_rank_[static_cast<std::size_t>(run_outs_[static_cast<std::size_t>(first_out)])] + 1);
  }
  for (const FirstTouch& touch : first_touches_) {
    const Object& o = object(touch.object);
    StreamQueues::Counts& need = queue[static_cast<std::size_t>(touch.step)].need;
    if (o.swap_in != none) raise(need[in], o.swap_in + 1 - ins);
    if (o.swap_out != none) raise(need[out], out_rank_[static_cast<std::size_t>(o.swap_out)] + 1 - outs);
  }
}

void PoolWalker::build_in_queue() {
  std::vector<StreamQueues::Entry>& queue = queues_.of(StreamKind::in);
  const auto n = static_cast<std::int32_t>(order_.size());
  const auto outs = static_cast<std::int32_t>(swap_outs_.size());
  for (const SwapIn& copy : swap_ins_) {
    StreamQueues::Entry& entry = queue.emplace_back();
    entry.work = static_cast<double>(table_->graph().buffers[static_cast<std::size_t>(copy.buffer)].bytes) +
                 in_overhead_;
    StreamQueues::Counts& need = entry.need;
    if (copy.since >= 0) raise(need[compute], copy.since + 1);
    for (std::int32_t before : {copy.object_out, copy.host_out})
      if (before != none) raise(need[out], out_rank_[static_cast<std::size_t>(before)] + 1);
    const Object& o = object(copy.object);
    if (copy.first_of_object) {
      if (o.since >= 0) raise(need[compute], o.since + 1 - n);
      if (o.swap_out != none) raise(need[out], out_rank_[static_cast<std::size_t>(o.swap_out)] + 1 - outs);
    }
    const std::int32_t host_out = buffer(copy.buffer).swap_out;
    if (copy.host_out == none && host_out != none && !table_->two_slots(copy.buffer))
      raise(need[out], out_rank_[static_cast<std::size_t>(host_out)] + 1 - outs);
  }
}

void PoolWalker::build_out_queue() {
  std::vector<StreamQueues::Entry>& queue = queues_.of(StreamKind::out);
  const auto n = static_cast<std::int32_t>(order_.size());
  const auto ins = static_cast<std::int32_t>(swap_ins_.size());
  for (std::int32_t k : out_order_) {
    const SwapOut& copy = swap_outs_[static_cast<std::size_t>(k)];
    StreamQueues::Entry& entry = queue.emplace_back();
    entry.work = static_cast<double>(table_->graph().buffers[static_cast<std::size_t>(copy.buffer)].bytes) +
                 out_overhead_;
    if (copy.step >= 0) raise(entry.need[compute], copy.step + 1);
    if (!copy.first_of_object) continue;
    const Object& o = object(copy.object);
    if (o.since >= 0) raise(entry.need[compute], o.since + 1 - n);
    if (o.swap_in != none) raise(entry.need[in], o.swap_in + 1 - ins);
  }
}

const std::vector<Resident>& PoolWalker::residents() {
  residents_.clear();
  for (std::size_t o = 0; o < boundary_.size(); ++o)
    if (boundary_[o] != none)
      residents_.push_back({boundary_[o], offsets_[o], table_->written(boundary_[o])});
  return residents_;
}

std::span<const std::int32_t> PoolWalker::run_objects(std::int32_t step) const {
  const auto s = static_cast<std::size_t>(step);
  return {run_objects_.data() + run_objects_begin_[s], run_objects_.data() + run_objects_begin_[s + 1]};
}

// After each run (and before the first) come the swap-outs, then the swap-ins listed there. A swap-out
// follows the last use before the eviction, though the value's writer would be enough to make it right.
const InstructionList& PoolWalker::instructions() {
  list_.clear();
  std::size_t next_in = 0, next_out = 0;
  run_entries_.clear();
  const auto add = [&](InstructionKind kind, std::int32_t target, std::int32_t o) {
    list_.entries.push_back({kind, target, static_cast<std::int32_t>(list_.offsets.size())});
    if (o != none) list_.offsets.push_back(object_offset(o));
  };
  for (std::int32_t step = -1; step < static_cast<std::int32_t>(order_.size()); ++step) {
    if (step >= 0) {
      run_entries_.push_back(static_cast<std::int32_t>(list_.entries.size()));
      add(InstructionKind::run, order_[static_cast<std::size_t>(step)], none);
      for (std::int32_t o : run_objects(step)) list_.offsets.push_back(object_offset(o));
    }
    for (; next_out < out_order_.size(); ++next_out) {
      const SwapOut& copy = swap_outs_[static_cast<std::size_t>(out_order_[next_out])];
      if (copy.step != step) break;
      // Before the first run: the last use was in the previous iteration.
      const std::int32_t since = step >= 0 ? step : object(copy.object).since;
      if (since >= 0)
        list_.extra_waits.push_back({static_cast<std::int32_t>(list_.entries.size()), since, step < 0});
      add(InstructionKind::swap_out, copy.buffer, copy.object);
    }
    for (; next_in < swap_ins_.size() && swap_ins_[next_in].step == step; ++next_in)
      add(InstructionKind::swap_in, swap_ins_[next_in].buffer, swap_ins_[next_in].object);
  }
  for (InstructionList::ExtraWait& wait : list_.extra_waits)
    wait.awaited = run_entries_[static_cast<std::size_t>(wait.awaited)];
  return list_;
}

}  // namespace swapadvisor
