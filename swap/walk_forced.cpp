// Swaps that a rule asks for, carried out in a walk.
#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/walk.h>

#include <algorithm>

namespace swapadvisor {

void Walker::load_forced(std::span<const ForcedSwap> forced) {
  forced_outs_.clear();
  fetches_.clear();
  next_out_ = next_fetch_ = 0;
  forced_bytes_ = 0;
  awaited_seconds_ = 0;
  for (const ForcedSwap& swap : forced) {
    if (swap.after >= 0) forced_outs_.push_back(swap);
    if (swap.use < 0) continue;
    SWAPADVISOR_ASSERT(swap.fetch > swap.after && swap.fetch <= swap.use,
                       "buffer {} is fetched at step {}, used at {}", swap.buffer, swap.fetch, swap.use);
    fetches_.push_back(swap);
    if (swap.after < 0 && state(swap.buffer).offset < 0) {
      State& s = state(swap.buffer);
      s.forced = !fixed(swap.buffer);
      s.not_before = swap.fetch - 1;
      s.in_by = swap.in_by;
    }
  }
  std::stable_sort(forced_outs_.begin(), forced_outs_.end(),
                   [](const ForcedSwap& a, const ForcedSwap& b) { return a.after < b.after; });
  std::stable_sort(fetches_.begin(), fetches_.end(), [](const ForcedSwap& a, const ForcedSwap& b) {
    return a.fetch != b.fetch ? a.fetch < b.fetch : a.use < b.use;
  });
}

void Walker::force_outs(std::int32_t step) {
  awaited_seconds_ = 0;
  for (; next_out_ < forced_outs_.size() && forced_outs_[next_out_].after == step; ++next_out_)
    force_out(forced_outs_[next_out_]);
}

void Walker::force_out(const ForcedSwap& swap) {
  State& s = state(swap.buffer);
  if (fixed(swap.buffer) || s.offset < 0) return;
  double free_seconds = end_of(s.last_access);
  if (s.dirty) {
    swap_out(swap.buffer, std::max(swap.out, s.last_write));
    copies_.back().awaits = copies_.back().step;
    copies_.back().awaited_by = swap.out_by;
    forced_bytes_ += table_->graph().buffers[static_cast<std::size_t>(swap.buffer)].bytes;
    free_seconds = std::max(free_seconds, s.swapped_out_seconds);
    if (swap.out_by >= 0) awaited_seconds_ = std::max(awaited_seconds_, s.swapped_out_seconds);
  }
  s.forced = swap.use >= 0;
  s.not_before = swap.fetch - 1;
  s.in_by = swap.in_by;
  const std::size_t segment = segment_of(s);
  free_segment(segment, std::max(s.last_access, arena_[segment].since), free_seconds);
}

void Walker::fetches(std::int32_t step) {
  if (next_fetch_ == fetches_.size() || fetches_[next_fetch_].fetch != step) return;
  const std::int64_t workspace = table_->workspace(op_at(step));
  if (workspace > 0) arena_.occupy(workspace_offset_, workspace, 0);  // chosen, and not to be taken
  for (; next_fetch_ < fetches_.size() && fetches_[next_fetch_].fetch == step; ++next_fetch_)
    fetch(fetches_[next_fetch_], step);
  if (workspace > 0) arena_.release(arena_.find(workspace_offset_), step - 1, end_of(step - 1), in_step_);
}

// Only into room that is free or that nobody needs sooner. Otherwise the op that uses the buffer asks for it
// again.
void Walker::fetch(const ForcedSwap& swap, std::int32_t step) {
  State& s = state(swap.buffer);
  if (fixed(swap.buffer) || s.offset >= 0) return;
  const std::int64_t bytes = table_->bytes(swap.buffer);
  const double needed = ideal_start_[static_cast<std::size_t>(swap.use)];
  const ArenaWindow window = cheapest_window(bytes, step, true);
  if (!window.found()) return;
  for (ArenaMap::Position k = window.first; k != window.last; k = arena_.next(k))
    if (!arena_[k].is_free() && arena_.next_use(k) <= needed) return;
  swap_in(swap.buffer, clear_range(align_in_window(window, bytes), bytes, step, window.first), step);
  const std::size_t segment = segment_of(s);
  arena_[segment].since_seconds = s.ready_seconds;
  double evict = copy_seconds(bytes, h2d_);
  if (!bias_.empty()) evict *= static_cast<double>(bias_[static_cast<std::size_t>(swap.buffer)]);
  arena_.set_eviction(segment, evict, needed);
}

}  // namespace swapadvisor
