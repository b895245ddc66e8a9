// The iteration boundary of a walk, and its instruction list.
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/walk.h>

#include <algorithm>

namespace swapadvisor {

void Walker::collect_at_last_op() {
  at_last_op_.clear();
  for (ArenaMap::Position k = arena_.first(); k != ArenaMap::none; k = arena_.next(k))
    if (const ArenaSegment& segment = arena_[k]; !segment.is_free())
      at_last_op_.push_back({segment.buffer, segment.offset, state(segment.buffer).dirty});
}

// Everything on the device now is persistent. What is not where `start` had it goes to the host store, what
// is missing there comes back in the order in which the next iteration needs it.
void Walker::close(const WalkRequest& request) {
  const auto end = static_cast<std::int32_t>(order_.size());
  worth_keeping_.clear();
  residents_.clear();
  for (const Resident& resident : request.start) {
    if (fixed(resident.buffer) || uses_.first_use(resident.buffer) == OrderUses::never) continue;
    residents_.push_back(resident);
    if (state(resident.buffer).home)
      worth_keeping_.push_back({resident.buffer, resident.offset, state(resident.buffer).dirty});
  }
  for (const Resident& resident : residents_) {
    State& s = state(resident.buffer);
    s.home = s.offset == resident.offset;      // from here on: it stays
    if (s.home && !resident.dirty && s.dirty)  // keep the promise that the host copy is right
      swap_out(resident.buffer, policy_.on_demand ? end - 1 : s.last_write);
  }
  for (const Resident& now : at_last_op_)
    if (!state(now.buffer).home) evict(arena_.find(now.offset), end);

  std::stable_sort(residents_.begin(), residents_.end(), [&](const Resident& a, const Resident& b) {
    return uses_.first_use(a.buffer) < uses_.first_use(b.buffer);
  });
  for (const Resident& resident : residents_)
    if (state(resident.buffer).offset < 0)
      swap_in(resident.buffer, clear_range(resident.offset, table_->bytes(resident.buffer), end), end);

  for (std::size_t b = 0; b < fixed_.size(); ++b) {
    const auto buffer = static_cast<std::int32_t>(b);
    if (fixed(buffer) && table_->persistent(buffer))
      residents_.push_back({buffer, fixed_[b], table_->written(buffer)});
  }
  std::sort(residents_.begin(), residents_.end(),
            [](const Resident& a, const Resident& b) { return a.offset < b.offset; });
}

// The run of `step` is about to be added.
void Walker::wait_for_copies(std::int32_t step) {
  const auto entry = static_cast<std::int32_t>(list_.entries.size());
  run_entries_.push_back(entry);
  std::size_t kept = 0;
  for (std::size_t k = 0; k < awaited_.size(); k += 2) {
    if (awaited_[k] == step) {
      list_.extra_waits.push_back({entry, awaited_[k + 1], false});
    } else {
      awaited_[kept++] = awaited_[k];
      awaited_[kept++] = awaited_[k + 1];
    }
  }
  awaited_.resize(kept);
}

// After each run (and before the first) come the swap-outs, then the swap-ins listed there, each in the order
// in which they were decided: a swap-in may need the room, or the host copy, of a swap-out of the same step.
void Walker::build_list() {
  const std::size_t n = order_.size();
  const auto bucket = [](const Copy& copy) {
    return static_cast<std::size_t>(copy.step + 1) * 2 + (copy.kind == InstructionKind::swap_in ? 1 : 0);
  };
  counts_.assign(2 * (n + 1) + 1, 0);
  for (const Copy& copy : copies_) ++counts_[bucket(copy) + 1];
  for (std::size_t k = 1; k < counts_.size(); ++k) counts_[k] += counts_[k - 1];
  sorted_.resize(copies_.size());
  for (std::size_t c = 0; c < copies_.size(); ++c)
    sorted_[static_cast<std::size_t>(counts_[bucket(copies_[c])]++)] = static_cast<std::int32_t>(c);

  list_.clear();
  run_entries_.clear();
  awaited_.clear();
  run_offsets_begin_.push_back(static_cast<std::int32_t>(run_offsets_.size()));
  const auto add = [&](InstructionKind kind, std::int32_t target) {
    list_.entries.push_back({kind, target, static_cast<std::int32_t>(list_.offsets.size())});
  };
  const auto last_run = static_cast<std::int32_t>(n + copies_.size()) - 1;
  std::int32_t previous_run = -1;
  std::size_t next = 0;
  for (std::int32_t step = -1; step < static_cast<std::int32_t>(n); ++step) {
    if (step >= 0) {
      wait_for_copies(step);
      previous_run = static_cast<std::int32_t>(list_.entries.size());
      add(InstructionKind::run, op_at(step));
      const auto s = static_cast<std::size_t>(step);
      list_.offsets.insert(list_.offsets.end(), run_offsets_.begin() + run_offsets_begin_[s],
                           run_offsets_.begin() + run_offsets_begin_[s + 1]);
    }
    for (; next < sorted_.size() && copies_[static_cast<std::size_t>(sorted_[next])].step == step; ++next) {
      const Copy& copy = copies_[static_cast<std::size_t>(sorted_[next])];
      if (policy_.on_demand && n > 0)
        list_.extra_waits.push_back(
            {static_cast<std::int32_t>(list_.entries.size()), previous_run, previous_run < 0});
      if (copy.awaits >= 0)
        list_.extra_waits.push_back({static_cast<std::int32_t>(list_.entries.size()),
                                     run_entries_[static_cast<std::size_t>(copy.awaits)], false});
      if (copy.awaited_by > step) {
        awaited_.push_back(copy.awaited_by);
        awaited_.push_back(static_cast<std::int32_t>(list_.entries.size()));
      }
      add(copy.kind, copy.buffer);
      list_.offsets.push_back(copy.offset);
    }
  }
  // The last run comes before the copies listed after it.
  std::int32_t final_run = last_run;
  while (final_run >= 0 && list_.entries[static_cast<std::size_t>(final_run)].kind != InstructionKind::run)
    --final_run;
  for (InstructionList::ExtraWait& wait : list_.extra_waits)
    if (wait.awaited < 0) wait.awaited = final_run;
}

}  // namespace swapadvisor
